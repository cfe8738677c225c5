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

export function createClient(url: string, key: string): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const target = new URL(url);
  return {
    call: (body) =>
      new Promise((resolve, reject) => {
        const startedAt = performance.now();
        const payload = JSON.stringify(body);
        const sent = request(
          target,
          {
            agent,
            method: 'POST',
            headers: {
              authorization: `Bearer ${key}`,
              'content-type': 'application/json',
              'content-length': Buffer.byteLength(payload),
            },
          },
          (response) => {
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
        sent.on('error', reject);
        sent.end(payload);
      }),
    close: () => agent.destroy(),
  };
}

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
