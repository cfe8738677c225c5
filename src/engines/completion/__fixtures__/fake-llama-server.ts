import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { text as readText } from 'node:stream/consumers';

export type FakeLlamaBody = Readonly<Record<string, unknown>>;

/** Handles a call in a test; `call` is the number of calls to that path so far. */
export type FakeLlamaHandler = (response: ServerResponse, body: FakeLlamaBody, call: number) => void;

export interface FakeLlamaServer {
  readonly url: string;
  /** Bodies of the calls that generate. */
  readonly generated: readonly FakeLlamaBody[];
  /** Returns the number of open responses. */
  countOpen(): number;
  close(): Promise<void>;
}

/**
 * Bytes are tokens; after them come a control token, a user-defined token, the end token, an ordinary text, a control token
 * of another look, and an ordinary token.
 */
const VOCABULARY = ['<|im_start|>', '<tool_call>', '<|im_end|>', '<b>', '[e~[', '();'];
const PARSED_ALWAYS = new Set(['<tool_call>', '();']);
const NEVER_PARSED = new Set(['<b>']);

const toTokens = (text: string, special: boolean): number[] =>
  text.split(/(<\|im_start\|>|<tool_call>|<\|im_end\|>|\[e~\[|\(\);)/).flatMap((piece) => {
    const at = VOCABULARY.indexOf(piece);
    const isToken = at >= 0 && !NEVER_PARSED.has(piece) && (special || PARSED_ALWAYS.has(piece));
    return isToken ? [256 + at] : [...Buffer.from(piece)];
  });

function tokenize({ content, parse_special: special, with_pieces: withPieces }: FakeLlamaBody): object {
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content];
  const tokens = parts.flatMap((part) => (typeof part === 'number' ? [part] : toTokens(String(part), special === true)));
  if (withPieces !== true) return { tokens };
  return { tokens: tokens.map((id) => ({ id, piece: VOCABULARY[id - 256] ?? (id < 128 ? String.fromCharCode(id) : [id]) })) };
}

const PROPS = {
  default_generation_settings: { n_ctx: 100 },
  total_slots: 2,
  chat_template: 'the template',
  bos_token: '<|im_start|>',
  eos_token: '<|im_end|>',
};

/** Starts an HTTP server with the routes of llama-server, whose completions the test writes. */
export async function startFakeLlamaServer(
  complete: FakeLlamaHandler,
  others: Readonly<Record<string, FakeLlamaHandler>> = {},
): Promise<FakeLlamaServer> {
  const generated: FakeLlamaBody[] = [];
  const calls = new Map<string, number>();
  let open = 0;
  const defaultReplies: Readonly<Record<string, (body: FakeLlamaBody) => object>> = {
    '/props': () => PROPS,
    '/v1/models': () => ({ data: [{ id: 'm', meta: { n_vocab: 256 + VOCABULARY.length } }] }),
    '/tokenize': tokenize,
    '/health': () => ({ status: 'ok' }),
  };
  const server = createServer((request, response) => {
    void (async () => {
      const path = request.url ?? '';
      const text = await readText(request);
      const body: FakeLlamaBody = text === '' ? {} : (JSON.parse(text) as FakeLlamaBody);
      const call = (calls.get(path) ?? 0) + 1;
      calls.set(path, call);
      const handler = path === '/completion' ? complete : others[path];
      if (path === '/completion') {
        generated.push(body);
        open++;
        response.on('close', () => open--);
      }
      if (handler) handler(response, body, call);
      if (response.headersSent || path === '/completion') return;
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(defaultReplies[path]?.(body) ?? {}));
    })();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    generated,
    countOpen: () => open,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export const writeStream = (response: ServerResponse, ...bodies: readonly (object | string)[]): ServerResponse => {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const body of bodies) response.write(typeof body === 'string' ? body : `data: ${JSON.stringify(body)}\n\n`);
  return response;
};

export const ACCEPTED_EVENT = { content: '', tokens: [0], stop: false, tokens_predicted: 0, prompt_progress: { cache: 3 } };
export const LAST_EVENT = { content: '', tokens: [], stop: true, stop_type: 'limit', timings: { cache_n: 3 } };
export const createLetterEvent = (text: string, predicted: number): object => ({
  content: text,
  tokens: [text.charCodeAt(0)],
  stop: false,
  tokens_predicted: predicted,
});
