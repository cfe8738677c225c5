import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { ATTACKER_ADDRESS, type AttackTarget } from './harness.ts';

export interface AttackerRequest {
  readonly path: string;
  /** Default: POST with a body, else GET. */
  readonly method?: string;
  /** Default: the key of the attacker. */
  readonly key?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Uint8Array;
}

export interface AttackerResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Sends a request from the attacker's address, on a connection of its own, and reads the response. */
export const sendAsAttacker = (
  { port, key: attackerKey, signal }: Pick<AttackTarget, 'port' | 'key' | 'signal'>,
  { path, body, method = body === undefined ? 'GET' : 'POST', key = attackerKey, headers }: AttackerRequest,
): Promise<AttackerResponse> =>
  new Promise((resolve, reject) => {
    const allHeaders = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers };
    const address = { host: '127.0.0.1', port, localAddress: ATTACKER_ADDRESS, agent: false as const };
    const outgoing = request({ ...address, path, method, headers: allHeaders, signal }, (response) => {
      const { statusCode: status = 0, headers } = response;
      text(response).then((body) => resolve({ status, headers, text: body }), reject);
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });

const BOUNDARY = 'attack-boundary';

export interface AttackerUpload {
  /** Default: that of files. */
  readonly path?: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly fileName: string;
  readonly bytes: Uint8Array;
  /** Default: the key of the attacker. */
  readonly key?: string;
}

/** Uploads a file with other fields, and returns the response. */
export const uploadAsAttacker = (
  target: Pick<AttackTarget, 'port' | 'key' | 'signal'>,
  { path = '/compatible-mode/v1/files', fields, fileName, bytes, key }: AttackerUpload,
): Promise<AttackerResponse> =>
  sendAsAttacker(target, {
    path,
    headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
    ...(key === undefined ? {} : { key }),
    body: Buffer.concat([
      ...Object.entries(fields).map(([name, value]) =>
        Buffer.from(`--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`),
      ),
      Buffer.from(`--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="${fileName}"\r\n\r\n`),
      bytes,
      Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
    ]),
  });
