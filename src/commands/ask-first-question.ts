import { createSseParser } from '../lib/sse.ts';
import { DEFAULT_MODEL } from '../service/readiness.ts';

interface FirstQuestionOptions {
  readonly url: string;
  readonly key: string;
  readonly signal: AbortSignal;
  readonly stdout: { write(text: string): unknown };
}

const QUESTION = 'In one short sentence: what can a language model on my own machine do for me?';

/** Longest wait for the complete answer, in ms. */
const ANSWER_MS_MAX = 120_000;

/** Sends a question to the running service over HTTP and streams the answer to the terminal. */
export async function askFirstQuestion({ url, key, signal, stdout }: FirstQuestionOptions): Promise<void> {
  stdout.write(`Q: ${QUESTION}\nA: `);
  const startedAt = performance.now();
  try {
    const response = await fetch(`${url}/compatible-mode/v1/chat/completions`, {
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
    if (!response.ok || !response.body) {
      stdout.write(`(${response.status}) ${await response.text()}\n`);
      return;
    }
    const parser = createSseParser({ sizeMax: 1_000_000 });
    let firstMs: number | undefined;
    let tokens = 0;
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      for (const { data } of parser.push(piece)) {
        if (data === '[DONE]') continue;
        const { choices, usage, error } = JSON.parse(data) as ChatChunk;
        if (error) stdout.write(`\n${error.message}`);
        const text = choices?.[0]?.delta.content;
        if (text) firstMs ??= performance.now() - startedAt;
        if (text) stdout.write(text);
        tokens = usage?.completion_tokens ?? tokens;
      }
    }
    const seconds = (performance.now() - startedAt) / 1000;
    stdout.write(
      `\n   (${tokens} tokens, first after ${((firstMs ?? 0) / 1000).toFixed(1)} s, complete after ${seconds.toFixed(1)} s)\n\n`,
    );
  } catch (error) {
    if (!signal.aborted) stdout.write(`\nThe first question failed: ${String(error)}\n`);
  }
}

/** The fields of a chat completion chunk that this module reads. */
interface ChatChunk {
  readonly choices?: readonly { readonly delta: { readonly content?: string | null } }[];
  readonly usage?: { readonly completion_tokens: number } | null;
  readonly error?: { readonly message: string };
}
