import { describePythonCases, type PythonCases } from '../../../../../test/clients/python-cases.ts';
import { startFakeResearchParley } from './fake-research-parley.ts';

const CASES: PythonCases = {
  client: 'dashscope',
  script: new URL('python/dashscope_research_cases.py', import.meta.url),
  models: [],
  parleys: { '': startFakeResearchParley },
  cases: [
    'gets a clarifying question in pieces',
    'gets a report phase by phase, with queries, findings and sources',
    'requests a summary when the client sends output_format',
    'gets increments whatever incremental_output is',
    'gets keep-alive events in silence',
    'works asynchronously',
    'gets a failure in mid-stream as the last event',
    'without a stream gets InvalidParameter with the prescribed text',
    'with invalid messages or an invalid size gets InvalidParameter',
  ],
};

describePythonCases('deep research with the dashscope client for Python, 1.x', {
  ...CASES,
  overlay: 'dashscope-1',
});

describePythonCases('deep research with the dashscope client for Python, 2.x', CASES);

describePythonCases('the deep research example of the dashscope client', {
  ...CASES,
  script: new URL('python/dashscope_research_example_cases.py', import.meta.url),
  cases: ['runs both steps'],
});
