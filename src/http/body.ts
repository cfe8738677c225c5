import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../core/error.ts';
import { JSON_VALUES_MAX } from '../core/limits.ts';
import { isDeeperThan } from '../lib/json-depth.ts';
import { hasMoreValues } from '../lib/json-values.ts';
import type { Call } from './call.ts';

export interface BodyLimits {
  readonly bytesMax: number;
  readonly depthMax: number;
}

/**
 * The JSON body of a request; undefined where there is none. A body without a content type is taken for JSON, as clients
 * that forget it mean nothing else.
 *
 * @throws ServiceError `too-large`, or `invalid-request` for another content type or encoding, invalid UTF-8, a byte order
 *   mark, text that is not JSON, and JSON nested too deep. Never with the text itself: it is the caller's prompt.
 */
export async function readJson(call: Call, { bytesMax, depthMax }: BodyLimits): Promise<unknown> {
  const { request } = call;
  const { headers } = request;
  if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0) return undefined;
  checkType(headers['content-type'], headers['content-encoding']);
  if (Number(headers['content-length'] ?? 0) > bytesMax) throw tooLarge(bytesMax);
  call.wantBody();
  const bytes = await readBytes(request, bytesMax);
  if (bytes.length === 0) return undefined;
  if (!isUtf8(bytes)) throw invalid('it is not valid UTF-8');
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) throw invalid('it begins with a byte order mark');
  if (hasMoreValues(bytes, JSON_VALUES_MAX)) throw invalid(`it has more than ${JSON_VALUES_MAX} values`);
  const value = parseJson(bytes.toString());
  if (isDeeperThan(value, depthMax)) throw invalid(`it is nested deeper than ${depthMax}`);
  return value;
}

/** wire.md 1.7. */
const invalid = (why: string): ServiceError =>
  new ServiceError('invalid-request', `Required body invalid, please check the request body format. (body: ${why})`);

const tooLarge = (bytesMax: number): ServiceError =>
  new ServiceError('too-large', `The body may have at most ${bytesMax} bytes.`);

function checkType(type: string | undefined, encoding: string | undefined): void {
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new ServiceError('invalid-request', 'Content-Encoding must be identity: compressed bodies are not taken.');
  }
  if (type === undefined) return;
  const [media = '', ...parameters] = type.toLowerCase().split(';');
  const isJson = media.trim() === 'application/json' || /^\s*[\w.-]+\/[\w.-]+\+json\s*$/.test(media);
  const charset = parameters.find((parameter) => parameter.trim().startsWith('charset='));
  const isOurs = charset === undefined || /^\s*charset="?utf-?8"?\s*$/.test(charset);
  if (!isJson || !isOurs) {
    throw new ServiceError('invalid-request', 'Content-Type must be application/json, in UTF-8.');
  }
}

function readBytes(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      if (size <= bytesMax) {
        chunks.push(chunk);
        return;
      }
      // The rest is read and thrown away: a sender that is cut off would not see why.
      chunks.length = 0;
      request.off('data', take);
      request.resume();
      reject(tooLarge(bytesMax));
    };
    const leave = (): void => reject(new ServiceError('cancelled', 'The caller left before its request was complete.'));
    request.on('data', take);
    request.once('end', () => {
      request.off('close', leave); // every request closes in the end
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
    });
    request.once('error', leave);
    request.once('close', leave);
  });
}

function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    // Without its cause: the parser's message quotes the text.
    throw invalid('it is not JSON');
  }
}
