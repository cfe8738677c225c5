import { describePythonCases } from './python-cases.ts';

describePythonCases('the anthropic client for Python', {
  client: 'anthropic',
  script: 'anthropic_cases.py',
  models: [],
  parleys: { '': { engine: 'scripted' } },
  cases: [
    'gets an answer',
    'may send its key in either header, with any beta',
    'gets raw events of a stream',
    'puts a stream together, and hears of it as it comes',
    'sees a stop sequence that was hit, streamed or not',
    'sees that max_tokens cut the answer, streamed or not',
    'may begin the answer itself, under a system prompt in blocks',
    'gets a thought before the answer, and may send it back',
    'gets several calls, with inputs in pieces, and tells their results',
    'runs a loop of tools by itself, streaming or not',
    'counts tokens as an answer does',
    'lists the models, page by page, and gets one',
    'is refused with its own exceptions, streamed or not',
    'tries an overloaded service again, and hears of a failure in mid-stream',
    'gets all of it asynchronously',
  ],
});
