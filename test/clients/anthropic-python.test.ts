import { describePythonCases } from './python-cases.ts';

describePythonCases('the anthropic client for Python', {
  client: 'anthropic',
  script: 'anthropic_cases.py',
  models: [],
  parleys: { '': { engine: 'scripted' } },
  cases: [
    'gets an answer',
    'may send its key in either header, with any beta name',
    'gets raw events of a stream',
    'collects a stream, and reports each delta',
    'gets the stop sequence that ended the answer, streamed or not',
    'gets max_tokens as the reason that ended the answer, streamed or not',
    'may prefill the answer, with a system prompt in blocks',
    'gets a thought before the answer, and may send it back',
    'gets several tool calls with inputs in pieces, and sends their results',
    'runs a tool loop with the tool runner, streaming or not',
    'counts the same input tokens as an answer reports',
    'lists the models, page by page, and gets one',
    'raises the exception class of each error, streamed or not',
    'retries an overloaded service, and raises a failure in mid-stream',
    'works asynchronously',
  ],
});
