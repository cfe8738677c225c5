import { createJavaProgram } from './java.ts';
import { describeProgramCases } from './program-cases.ts';
import { SERVER_TOOL_CAPABILITIES, startServerToolsParley } from './server-tools-parley.ts';

describeProgramCases('server tools with the dashscope client for Java', createJavaProgram('ServerToolsCases.java'), {
  models: [],
  capabilities: SERVER_TOOL_CAPABILITIES,
  parleys: { '': startServerToolsParley },
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
