import { Agent, request } from 'node:http';

/** One keep-alive client for all rounds. */
export interface Client {
  /** Sends one call; resolves with the whole answer and the times of its pieces, in ms. */
  call(body: unknown): Promise<Answer>;
  close(): void;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly totalMs: number;
  /** When each piece of the body came, from the start of the call. */
  readonly pieces: readonly { readonly atMs: number; readonly text: string }[];
}

/** More than any bench has calls at once: what is measured must not wait here. */
const CONNECTIONS_MAX = 512;

export function createClient(url: string, key: string, headers: Readonly<Record<string, string>> = {}): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX });
  const target = new URL(url);
  const send = (payload: string, resolve: (answer: Answer) => void, reject: (error: unknown) => void): void => {
    const startedAt = performance.now();
    let isAnswered = false;
    const sent = request(
      target,
      {
        agent,
        method: 'POST',
        headers: {
          ...headers,
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(payload),
        },
      },
      (response) => {
        isAnswered = true;
        const pieces: { atMs: number; text: string }[] = [];
        response.setEncoding('utf8');
        response.on('data', (text: string) => pieces.push({ atMs: performance.now() - startedAt, text }));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            text: pieces.map((piece) => piece.text).join(''),
            totalMs: performance.now() - startedAt,
            pieces,
          }),
        );
      },
    );
    // A server may give up an idle connection at the moment at which it is used again; that is no answer.
    sent.on('error', (error) => (sent.reusedSocket && !isAnswered ? send(payload, resolve, reject) : reject(error)));
    sent.end(payload);
  };
  return {
    call: (body) => new Promise((resolve, reject) => send(JSON.stringify(body), resolve, reject)),
    close: () => agent.destroy(),
  };
}

/** A piece of a stream that has words in it. */
const WORDS = /"content":\s*"[^"]/;

/** Runs `count` calls, `concurrency` at a time. */
export async function many<T>(count: number, concurrency: number, work: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let left = count;
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (left-- > 0) results.push(await work());
    }),
  );
  return results;
}

/** Starts calls for so long, `concurrency` at a time, and waits for the last of them. */
export async function during<T>(ms: number, concurrency: number, work: () => Promise<T>): Promise<T[]> {
  const endsAt = performance.now() + ms;
  const results: T[] = [];
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (performance.now() < endsAt) results.push(await work());
    }),
  );
  return results;
}

/** When the first words of a streamed answer came, in ms. @throws Error when it failed or was cut. */
export function firstTokenMs({ status, text, pieces }: Answer): number {
  const first = pieces.find((piece) => WORDS.test(piece.text));
  if (status === 200 && first && text.includes('data: [DONE]')) return first.atMs;
  throw new Error(`no whole stream, but ${status}: ${text.slice(0, 300)}`);
}

/** From a stream's first token to its last, as the library side counts. @throws Error when it ended before its limit. */
export function tokensPerSecond({ status, text, pieces }: Answer, tokens: number): number {
  if (status !== 200 || !/"finish_reason":\s*"length"/.test(text))
    throw new Error(`the service answered ${status}: ${text.slice(0, 300)}`);
  const withText = pieces.filter((piece) => WORDS.test(piece.text));
  const first = withText[0]?.atMs ?? 0;
  const last = withText.at(-1)?.atMs ?? 0;
  return ((tokens - 1) / (last - first)) * 1000;
}

/** A request that the scripted engine answers by these steps. */
export const script = (steps: readonly object[]) => ({
  messages: [{ role: 'user', content: `script:${JSON.stringify(steps)}` }],
});

/** One with 50 ms before each token. */
export const pacedScript = (tokens: number) =>
  script(Array.from({ length: tokens }, () => [{ delayMs: 50 }, { repeat: 'word ', times: 1 }]).flat());
