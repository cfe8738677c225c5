import { describePythonCases, type PythonCases } from './python-cases.ts';
import { startResearchParley } from './research-parley.ts';

const CASES: PythonCases = {
  client: 'dashscope',
  script: 'dashscope_research_cases.py',
  models: [],
  parleys: { '': startResearchParley },
  cases: [
    'is asked back, piece by piece',
    'gets a report, phase by phase, with what was looked for, what was found and where from',
    'asks for a summary, where the client passes that on',
    'gets increments whatever it says of them',
    'is kept alive in silence',
    'gets all of it asynchronously',
    'sees a failure in mid-stream as its last event',
    'without a stream gets InvalidParameter, in the words that are known',
    'with messages or sizes that cannot be gets InvalidParameter',
  ],
};

describePythonCases('the dashscope client for Python, 1.x, that has something looked into', {
  ...CASES,
  overlay: 'dashscope-1',
});

describePythonCases('the dashscope client for Python, 2.x, that has something looked into', CASES);

describePythonCases("the dashscope client's own example of deep research", {
  ...CASES,
  script: 'dashscope_research_example_cases.py',
  cases: ['understands both steps'],
});
