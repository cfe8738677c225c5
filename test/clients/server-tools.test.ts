import { createJavaProgram } from './java.ts';
import { describeProgramCases, shareParley } from './program-cases.ts';
import { describePythonCases, type PythonCases } from './python-cases.ts';
import { describeServerToolsForNode } from './server-tools-node.ts';
import { SERVER_TOOL_CAPABILITIES, startServerToolsParley } from './server-tools-parley.ts';

/** One Parley for all clients, because its start and its sandboxes take most of the time. */
const start = shareParley(startServerToolsParley);

/** Cases for all versions of the dashscope client, which calls the native API. */
const NATIVE: PythonCases = {
  client: 'dashscope',
  script: 'dashscope_server_tools_cases.py',
  models: [],
  capabilities: SERVER_TOOL_CAPABILITIES,
  parleys: { '': start },
  cases: [
    'gets search results with the answer, and the number of searches',
    'gets search results with an answer in the result format text',
    'streams pieces, with search results in the first and the last event',
    'streams the whole answer so far, with search results at the end',
    'gets search results only before the answer with prepend_search_result',
    'gets the executed code in the stream of a thinking request',
    'with invalid search options gets InvalidParameter with the error text of the API',
  ],
};

describePythonCases('server tools with the dashscope client for Python, 1.x', {
  ...NATIVE,
  overlay: 'dashscope-1',
});

describePythonCases('server tools with the dashscope client for Python, 2.x', NATIVE);

describePythonCases('server tools with the openai client for Python', {
  client: 'openai',
  script: 'openai_server_tools_cases.py',
  models: [],
  capabilities: SERVER_TOOL_CAPABILITIES,
  parleys: { '': start },
  cases: [
    'chat completions contain text only, streamed or not',
    'responses have items and citations, and the stream helper of the client returns the same',
    'responses continue from the returned items',
  ],
});

describePythonCases('server tools with the anthropic client for Python', {
  client: 'anthropic',
  script: 'anthropic_server_tools_cases.py',
  models: [],
  capabilities: SERVER_TOOL_CAPABILITIES,
  parleys: { '': start },
  cases: [
    'messages have blocks and citations, and the stream helper of the client returns the same',
    'messages continue from the returned blocks',
  ],
});

describeProgramCases('server tools with the dashscope client for Java', createJavaProgram('ServerToolsCases.java'), {
  models: [],
  capabilities: SERVER_TOOL_CAPABILITIES,
  parleys: { '': start },
  cases: [
    'gets search results with the answer',
    'gets search results with an answer in text format',
    'streams pieces, with search results in the first and the last event',
    'streams the whole answer so far, with search results at the end',
    'gets search results only before the answer with prepend_search_result',
    'gets no sources unless requested',
    'gets programs in a thinking stream',
    'gets search results and programs, with their counts',
    'gets errors that explain how to enable programs',
    'with invalid search options gets InvalidParameter with the prescribed text',
  ],
});

describeServerToolsForNode(start);
