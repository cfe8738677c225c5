import { Agent, request } from 'node:http';

/** HTTP client with keep-alive connections for all rounds. */
export interface BenchClient {
  /** Sends one request. Resolves with the whole response and the arrival times of its pieces, in ms. */
  call(body: unknown): Promise<BenchResponse>;
  close(): void;
}

export interface BenchResponse {
  readonly status: number;
  readonly text: string;
  readonly totalMs: number;
  /** Each piece of the body with its arrival time since the start of the call. */
  readonly pieces: readonly { readonly atMs: number; readonly text: string }[];
}

/** More than the concurrent calls of any benchmark, so that no call waits for a connection. */
const CONNECTIONS_MAX = 512;

export function createBenchClient(
  url: string,
  key: string,
  headers: Readonly<Record<string, string>> = {},
): BenchClient {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX });
  const target = new URL(url);
  const sendOnce = (
    payload: string,
    resolve: (answer: BenchResponse) => void,
    reject: (error: unknown) => void,
  ): void => {
    const startedAt = performance.now();
    let hasResponse = false;
    const outgoing = request(
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
        hasResponse = true;
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
    // A server may close an idle connection just when it is reused, so the request is sent again.
    outgoing.on('error', (error) =>
      outgoing.reusedSocket && !hasResponse ? sendOnce(payload, resolve, reject) : reject(error),
    );
    outgoing.end(payload);
  };
  return {
    call: (body) => new Promise((resolve, reject) => sendOnce(JSON.stringify(body), resolve, reject)),
    close: () => agent.destroy(),
  };
}

/** Creates a client of the chat interface of a service. */
export const createChatClient = ({ url, key }: { readonly url: string; readonly key: string }): BenchClient =>
  createBenchClient(`${url}/v1/chat/completions`, key);

/** Matches a piece of a stream that holds text. */
const CONTENT_PATTERN = /"content":\s*"[^"]/;

/** Runs `count` calls, `concurrency` at a time, and returns their results. */
export function runConcurrently<T>(count: number, concurrency: number, work: () => Promise<T>): Promise<T[]> {
  let left = count;
  return runWhile(() => left-- > 0, concurrency, work);
}

/** Starts calls for `ms` milliseconds, `concurrency` at a time, and waits for the last of them. */
export function runForDuration<T>(ms: number, concurrency: number, work: () => Promise<T>): Promise<T[]> {
  const endsAt = performance.now() + ms;
  return runWhile(() => performance.now() < endsAt, concurrency, work);
}

async function runWhile<T>(mayStart: () => boolean, concurrency: number, work: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (mayStart()) results.push(await work());
    }),
  );
  return results;
}

/** Returns when the first text of a streamed answer arrived, in ms. @throws Error when it failed or is incomplete. */
export function getFirstTokenMs({ status, text, pieces }: BenchResponse): number {
  const first = pieces.find((piece) => CONTENT_PATTERN.test(piece.text));
  if (status === 200 && first && text.includes('data: [DONE]')) return first.atMs;
  throw new Error(`the stream is incomplete, status ${status}: ${text.slice(0, 300)}`);
}

/** Measures from the first token to the last, as the library side does. @throws Error when the answer is shorter. */
export function computeTokensPerSecond({ status, text, pieces }: BenchResponse, tokens: number): number {
  if (status !== 200 || !/"finish_reason":\s*"length"/.test(text))
    throw new Error(`the service answered ${status}: ${text.slice(0, 300)}`);
  const withText = pieces.filter((piece) => CONTENT_PATTERN.test(piece.text));
  const first = withText[0]?.atMs ?? 0;
  const last = withText.at(-1)?.atMs ?? 0;
  return ((tokens - 1) / (last - first)) * 1000;
}

/** Creates a chat request that the scripted engine answers with these steps. */
export const createScriptRequest = (steps: readonly object[]) => ({
  messages: [{ role: 'user', content: `script:${JSON.stringify(steps)}` }],
});

/** Creates a script request with 50 ms before each token. */
export const createPacedScriptRequest = (tokens: number) =>
  createScriptRequest(Array.from({ length: tokens }, () => [{ delayMs: 50 }, { repeat: 'word ', times: 1 }]).flat());
