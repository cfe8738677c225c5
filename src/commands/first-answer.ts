import { createSseParser } from '../lib/sse.ts';
import { DEFAULT_MODEL } from '../service/readiness.ts';

interface FirstAnswer {
  readonly url: string;
  readonly key: string;
  readonly signal: AbortSignal;
  readonly stdout: { write(text: string): unknown };
}

const QUESTION = 'In one short sentence: what can a language model on my own machine do for me?';

/** Longest wait for the whole answer, in ms. */
const ANSWER_MS_MAX = 120_000;

/** A real question through the front door, streamed to the terminal as it comes. */
export async function firstAnswer({ url, key, signal, stdout }: FirstAnswer): Promise<void> {
  stdout.write(`Q: ${QUESTION}\nA: `);
  const startedAt = performance.now();
  try {
    const answer = await fetch(`${url}/compatible-mode/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: DEFAULT_MODEL,
        stream: true,
        stream_options: { include_usage: true },
        max_tokens: 48,
        messages: [{ role: 'user', content: QUESTION }],
      }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS_MAX)]),
    });
    if (!answer.ok || !answer.body) {
      stdout.write(`(${answer.status}) ${await answer.text()}\n`);
      return;
    }
    const parser = createSseParser({ sizeMax: 1_000_000 });
    let firstMs: number | undefined;
    let tokens = 0;
    for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
      for (const { data } of parser.push(piece)) {
        if (data === '[DONE]') continue;
        const { choices, usage, error } = JSON.parse(data) as Chunk;
        if (error) stdout.write(`\n${error.message}`);
        const text = choices?.[0]?.delta.content;
        if (text) firstMs ??= performance.now() - startedAt;
        if (text) stdout.write(text);
        tokens = usage?.completion_tokens ?? tokens;
      }
    }
    const seconds = (performance.now() - startedAt) / 1000;
    stdout.write(
      `\n   (${tokens} tokens, first after ${((firstMs ?? 0) / 1000).toFixed(1)} s, whole answer ${seconds.toFixed(1)} s)\n\n`,
    );
  } catch (error) {
    if (!signal.aborted) stdout.write(`\nThe first answer did not come: ${String(error)}\n`);
  }
}

/** What is read of our own chunks. */
interface Chunk {
  readonly choices?: readonly { readonly delta: { readonly content?: string | null } }[];
  readonly usage?: { readonly completion_tokens: number } | null;
  readonly error?: { readonly message: string };
}
