import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { EngineEvent, TokenLogprob } from '../../src/core/event.ts';
import type { Message } from '../../src/core/message.ts';
import type { EngineInput, TextEngine } from '../../src/engines/engine.ts';
import { createPromptRenderer } from '../../src/generation/prompt-renderer.ts';
import { startParley } from '../clients/harness.ts';
import type { ParleyProcess } from '../clients/harness.ts';
import { createEngineRequest, joinText, listPromptLogprobs, runToEnd } from '../contracts/engine-contract.ts';
import type { EngineUnderTest } from '../contracts/engine-contract.ts';

export interface ServerUnderTest {
  /** Opens an engine with `input: prompt`. */
  openTokenEngine(): Promise<EngineUnderTest>;
  /** Opens an engine with `input: chat`. */
  openChatEngine(): Promise<EngineUnderTest>;
  /** URL of the server, without a version path. */
  readonly address: string;
  /** Chat template for a server that does not report its own. */
  readonly chatTemplate?: string;
}

const QUESTION: Message = { role: 'user', content: [{ type: 'text', text: 'What is the capital of France?' }] };

const ANSWER_TOKENS = 8;

/** Largest difference between two log probabilities of one token that are computed in bfloat16 in different batches. */
const TOLERANCE = 0.3;

/** Some of its characters span several tokens in most vocabularies. */
const RARE_TEXT = 'naïve 🙂 日本語';

const createPartialMessage = (text: string): Message => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  partial: true,
});

/** Tests on a real server what a fake one cannot show: that the model continues a text, and scores it right. */
export function describeServer(name: 'vllm' | 'sglang', server: ServerUnderTest): void {
  for (const kind of ['token prompts', 'chat messages'] as const)
    describe(`${name} with ${kind} continues`, () => {
      let subject: EngineUnderTest;
      before(async () => {
        subject = await (kind === 'token prompts' ? server.openTokenEngine() : server.openChatEngine());
      });
      after(() => subject.close());

      it('a partial message with the text that follows it, and counts its prompt', async () => {
        const { engine } = subject;
        const whole = await runToEnd(engine, await createRequest(engine, [QUESTION], ANSWER_TOKENS));
        const { start, tokens } = takeStart(whole.events);
        const request = await createRequest(engine, [QUESTION, createPartialMessage(start)], ANSWER_TOKENS - tokens);
        const { text, events } = await runToEnd(engine, request);
        assert.equal(start + text, whole.text);
        const last = events.at(-1);
        assert.ok(last?.type === 'end');
        assert.equal(last.usage.promptTokens, await engine.countTokens(request.input));
      });
    });

  describe(`${name} scores`, () => {
    let subject: EngineUnderTest;
    before(async () => {
      subject = await server.openTokenEngine();
    });
    after(() => subject.close());

    it('a prompt that contains an answer as it did when it generated the answer', async () => {
      const { engine } = subject;
      const request = await createRequest(engine, [QUESTION], ANSWER_TOKENS);
      const { events, text } = await runToEnd(engine, { ...request, logprobs: { top: 1 } });
      const generated = events.flatMap((event) => (event.type === 'text' ? (event.logprobs ?? []) : []));
      const { input } = await createRequest(engine, [QUESTION, createPartialMessage(text)], 0);
      const scored = (await scorePrompt(engine, input)).slice(-generated.length);
      assert.deepEqual(scored.map(getToken), generated.map(getToken));
      for (const [at, { token, logprob, top }] of scored.entries()) {
        assert.equal(top[0]?.token, token, 'a greedy answer has the most likely tokens');
        assertClose(logprob, generated[at]?.logprob, token);
      }
    });

    it('characters that span several tokens, and returns their text', async () => {
      const { engine } = subject;
      const input: EngineInput = { type: 'segments', segments: [{ text: RARE_TEXT, special: false }] };
      const tokens = (await engine.tokenize(input)).map(({ id }) => id);
      const scored = await scorePrompt(engine, { type: 'tokens', tokens });
      assert.equal(scored.length, tokens.length);
      assert.equal(scored.map(getToken).join(''), RARE_TEXT);
    });
  });

  describe(`text completions on ${name}`, () => {
    const PROMPTS = ['The capital of France is Paris.', 'The capital of France is Rome.', RARE_TEXT];
    let parley: ParleyProcess;
    let folder: string;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'parley-servers-'));
      const models = (await (await fetch(new URL('/v1/models', server.address))).json()) as ModelList;
      const entry: Record<string, unknown> = {
        url: server.address,
        upstreamModel: models.data[0]?.id,
        server: name,
        input: 'prompt',
        interfaces: ['completions', 'native'],
      };
      if (server.chatTemplate !== undefined) {
        entry['chatTemplate'] = join(folder, 'template.jinja');
        await writeFile(join(folder, 'template.jinja'), server.chatTemplate);
      }
      // JSON is valid YAML.
      parley = await startParley({ engine: 'scripted', config: JSON.stringify({ models: { scored: entry } }) });
    });
    after(async () => {
      await parley.stop();
      await rm(folder, { recursive: true });
    });

    const post = async (body: object): Promise<Response> => {
      const response = await fetch(`${parley.baseUrl}/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'scored', echo: true, logprobs: 1, temperature: 0, seed: 1, ...body }),
      });
      if (response.status !== 200) assert.fail(`${response.status}: ${await response.text()}`);
      return response;
    };
    const complete = async (body: object): Promise<CompletionResponse> =>
      (await (await post(body)).json()) as CompletionResponse;
    const stream = async (body: object): Promise<CompletionResponse> =>
      joinChunks(await (await post({ ...body, stream: true, stream_options: { include_usage: true } })).text());

    it('scores several prompts without an answer, streamed or not', async () => {
      for (const request of [complete, stream]) {
        const { choices, usage } = await request({ prompt: PROMPTS, max_tokens: 0 });
        assert.deepEqual(
          choices.map(({ index, text, finish_reason: reason }) => [index, text, reason]),
          PROMPTS.map((prompt, index) => [index, prompt, 'length']),
        );
        let promptTokens = 0;
        for (const { text, logprobs } of choices) {
          promptTokens += logprobs.tokens.length;
          assert.equal(logprobs.tokens.join(''), text);
          assert.deepEqual(logprobs.text_offset, computeOffsets(logprobs.tokens));
          const [first, ...others] = logprobs.token_logprobs;
          assert.equal(first, null);
          assert.ok(others.every((logprob) => logprob !== null && logprob <= 0));
        }
        assert.deepEqual([usage.prompt_tokens, usage.completion_tokens], [promptTokens, 0]);
        const [paris, rome] = choices.map(({ logprobs }) => sumLogprobs(logprobs.token_logprobs));
        assert.ok((paris ?? -Infinity) > (rome ?? Infinity), 'the true sentence is more likely');
      }
    });

    it('scores token ids as their text, and puts the answer after the prompt', async () => {
      const { choices: asText } = await complete({ prompt: PROMPTS, max_tokens: 0 });
      const answer = await fetch(`${parley.address}/api/v1/tokenizer`, {
        method: 'POST',
        headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'scored', input: { prompt: PROMPTS[0] } }),
      });
      assert.equal(answer.status, 200);
      const { output } = (await answer.json()) as { readonly output: { readonly token_ids: readonly number[] } };
      for (const request of [complete, stream]) {
        const { choices, usage } = await request({ prompt: output.token_ids, max_tokens: 2 });
        const [choice] = choices;
        const expected = asText[0]?.logprobs;
        assert.ok(choice && expected);
        const promptLength = output.token_ids.length;
        assert.ok(choice.text.startsWith(PROMPTS[0] ?? ''));
        assert.deepEqual([usage.prompt_tokens, usage.completion_tokens], [promptLength, 2]);
        assert.equal(choice.logprobs.tokens.length, promptLength + 2);
        assert.deepEqual(choice.logprobs.tokens.slice(0, promptLength), expected.tokens);
        for (const [at, logprob] of choice.logprobs.token_logprobs.slice(1, promptLength).entries())
          assertClose(logprob ?? undefined, expected.token_logprobs[at + 1] ?? undefined, expected.tokens[at + 1]);
      }
    });
  });
}

/** Creates a greedy request for an answer to messages, which Parley renders for an engine that reads prompts. */
async function createRequest(engine: TextEngine, messages: readonly Message[], maxTokens: number) {
  const input: EngineInput =
    engine.capabilities.input === 'chat'
      ? { type: 'messages', messages }
      : { type: 'segments', segments: createPromptRenderer()(await engine.loadModel()).render(messages, {}) };
  return createEngineRequest('', { input, maxTokens });
}

/** Returns the first half of an answer, whole events only. */
function takeStart(events: readonly EngineEvent[]): { readonly start: string; readonly tokens: number } {
  let start = '';
  let tokens = 0;
  for (const event of events) {
    if (event.type !== 'text' || tokens >= ANSWER_TOKENS / 2) continue;
    start += event.text;
    tokens += event.tokens;
  }
  assert.ok(start !== '' && start.length < joinText(events).length, 'the answer has two halves');
  return { start, tokens };
}

async function scorePrompt(engine: TextEngine, input: EngineInput): Promise<readonly TokenLogprob[]> {
  const scores = { logprobs: { top: 1 }, promptLogprobs: { top: 1 } };
  return listPromptLogprobs(
    (await runToEnd(engine, createEngineRequest('', { input, maxTokens: 0, ...scores }))).events,
  );
}

const getToken = ({ token }: TokenLogprob): string => token;

function assertClose(actual: number | undefined, expected: number | undefined, token: string | undefined): void {
  assert.ok(actual !== undefined && expected !== undefined, `a number for ${token}`);
  assert.ok(Math.abs(actual - expected) <= TOLERANCE, `${token}: ${actual} instead of ${expected}`);
}

interface ModelList {
  readonly data: readonly { readonly id: string }[];
}

interface CompletionLogprobs {
  readonly tokens: readonly string[];
  readonly token_logprobs: readonly (number | null)[];
  readonly text_offset: readonly number[];
}

interface CompletionChoice {
  readonly index: number;
  readonly text: string;
  readonly finish_reason: string | null;
  readonly logprobs: CompletionLogprobs;
}

interface CompletionResponse {
  readonly choices: readonly CompletionChoice[];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

type CompletionChunk = Omit<CompletionResponse, 'choices' | 'usage'> & {
  readonly choices: readonly (Omit<CompletionChoice, 'logprobs'> & { readonly logprobs: CompletionLogprobs | null })[];
  readonly usage?: CompletionResponse['usage'] | null;
};

/** Joins the chunks of a stream to the response that an unstreamed request gets. */
function joinChunks(body: string): CompletionResponse {
  const frames = body.split('\n\n').flatMap((frame) => (frame.startsWith('data: ') ? [frame.slice(6)] : []));
  assert.equal(frames.at(-1), '[DONE]');
  const chunks = frames.slice(0, -1).map((frame) => JSON.parse(frame) as CompletionChunk);
  const usage = chunks.at(-1)?.usage;
  assert.ok(usage, 'the last chunk has the usage');
  const pieces = chunks.flatMap(({ choices }) => choices);
  const choices = [...new Set(pieces.map(({ index }) => index))].map((index): CompletionChoice => {
    const own = pieces.filter((piece) => piece.index === index);
    const logprobs = own.flatMap((piece) => piece.logprobs ?? []);
    return {
      index,
      text: own.map(({ text }) => text).join(''),
      finish_reason: own.at(-1)?.finish_reason ?? null,
      logprobs: {
        tokens: logprobs.flatMap(({ tokens }) => tokens),
        token_logprobs: logprobs.flatMap((piece) => piece.token_logprobs),
        text_offset: logprobs.flatMap((piece) => piece.text_offset),
      },
    };
  });
  return { choices, usage };
}

/** Returns the start of each token in Unicode code points. */
function computeOffsets(tokens: readonly string[]): readonly number[] {
  let offset = 0;
  return tokens.map((token) => {
    const start = offset;
    offset += Array.from(token).length;
    return start;
  });
}

const sumLogprobs = (logprobs: readonly (number | null)[]): number =>
  logprobs.reduce<number>((sum, logprob) => sum + (logprob ?? 0), 0);
