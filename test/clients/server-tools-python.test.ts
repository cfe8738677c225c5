import { describePythonCases, type PythonCases } from './python-cases.ts';
import { startWorkingParley } from './working-parley.ts';

const NATIVE: PythonCases = {
  client: 'dashscope',
  script: 'dashscope_server_tools_cases.py',
  models: [],
  parleys: { '': startWorkingParley },
  cases: [
    'gets what was found beside the answer, and the count',
    'gets it as text, too',
    'streams pieces, with what was found in the first and the last',
    'streams the whole answer so far, with what was found at the end',
    'gets what was found before the answer, and then no more',
    'gets programs while thinking, streamed',
    'with a wish that cannot be gets InvalidParameter, in the words that are known',
  ],
};

describePythonCases('the dashscope client for Python, 1.x, that lets the model use what runs here', {
  ...NATIVE,
  overlay: 'dashscope-1',
});

describePythonCases('the dashscope client for Python, 2.x, that lets the model use what runs here', NATIVE);

describePythonCases('the openai client for Python that lets the model use what runs here', {
  client: 'openai',
  script: 'openai_server_tools_cases.py',
  models: [],
  parleys: { '': startWorkingParley },
  cases: [
    'chat completions say text only, streamed or not',
    'responses have items and citations, and the helper puts the same together',
    'responses are gone on from with the items that were told',
  ],
});

describePythonCases('the anthropic client for Python that lets the model use what runs here', {
  client: 'anthropic',
  script: 'anthropic_server_tools_cases.py',
  models: [],
  parleys: { '': startWorkingParley },
  cases: [
    'messages have blocks and citations, and the helper puts the same together',
    'messages are gone on from with the blocks that were told',
  ],
});
