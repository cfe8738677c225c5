import { ServiceError } from '../core/error.ts';
import type { RequestImages } from '../core/context.ts';
import { REQUEST_IMAGES_BYTES_MAX, RETRY_AFTER_SECONDS } from '../core/limits.ts';
import { createLinkedAbort } from '../lib/linked-abort.ts';
import { mapWithConcurrency } from '../lib/map-with-concurrency.ts';
import type { ContentPart, Message } from '../core/message.ts';
import type { FetchResponse, GuardedFetch } from '../net/guarded-fetch.ts';
import { IMAGE_BYTES_MAX, IMAGE_FETCH_CONCURRENCY, REQUEST_IMAGE_URLS_MAX } from './limits.ts';

/** Bytes of the fetched images of running requests. */
export interface ImageLimits {
  readonly totalBytesMax: number;
  readonly workspaceBytesMax: number;
}

/** Opens the images of one request. */
export type OpenRequestImages = (workspace: string) => RequestImages;

/**
 * Fetches the images that messages name by URL. The server of a model must not fetch them: it would fetch any URL, also
 * one of its own machine or network.
 *
 * @param fetch Reaches public hosts only, and those that the operator allows.
 */
export function createOpenImages(fetch: GuardedFetch, limits: ImageLimits): OpenRequestImages {
  const budget = createByteBudget(limits);

  return (workspace) => {
    const reservation = budget.open(workspace);
    const dataUrls = new Map<string, string>();
    let bytesTotal = 0;
    const count = (bytes: number): void => {
      bytesTotal += bytes;
      if (bytesTotal > REQUEST_IMAGES_BYTES_MAX) throw createTooLargeError();
      reservation.add(bytes);
    };

    const fetchMissing = async (params: ReadonlyMap<string, string>, signal: AbortSignal): Promise<void> => {
      // The first failure ends the other downloads.
      const group = createLinkedAbort(signal);
      const countPiece = (bytes: number): void => {
        // Nothing is reserved after the reservation was released.
        group.signal.throwIfAborted();
        count(bytes);
      };
      try {
        const missing = [...params].filter(([url]) => !dataUrls.has(url));
        await mapWithConcurrency(missing, IMAGE_FETCH_CONCURRENCY, async ([url, param]) => {
          try {
            const response = await fetch(url, { bytesMax: IMAGE_BYTES_MAX, accept: 'image/*', signal: group.signal });
            dataUrls.set(url, await readDataUrl(response, countPiece));
          } catch (thrown) {
            signal.throwIfAborted();
            throw toImageError(thrown, param);
          }
        });
      } catch (error) {
        group.abort(error);
        throw error;
      } finally {
        group.unlink();
      }
    };
    const replace = (part: ContentPart): ContentPart =>
      part.type === 'image' ? { ...part, url: dataUrls.get(part.url) ?? part.url } : part;

    return {
      async inline(messages, signal) {
        const params = findImageUrls(messages);
        if (params.size === 0) return messages;
        if (params.size > REQUEST_IMAGE_URLS_MAX) throw createTooManyError(params.size);
        await fetchMissing(params, signal);
        return messages.map((message) => ({ ...message, content: message.content.map(replace) }));
      },
      release() {
        dataUrls.clear();
        reservation.release();
      },
    };
  };
}

/** Whether messages name images that are not in the request. */
export const hasImageUrls = (messages: readonly Message[]): boolean => findImageUrls(messages).size > 0;

/** Returns the URLs of images that are not in the request, each with the field that names it first. */
function findImageUrls(messages: readonly Message[]): ReadonlyMap<string, string> {
  const params = new Map<string, string>();
  for (const [index, { content }] of messages.entries())
    for (const part of content)
      if (part.type === 'image' && !/^data:/i.test(part.url) && !params.has(part.url))
        params.set(part.url, `messages[${index}].content`);
  return params;
}

/** @param count Called with the length of each piece. Its errors end the download. */
async function readDataUrl(
  { status, contentType, body }: FetchResponse,
  count: (bytes: number) => void,
): Promise<string> {
  try {
    if (status < 200 || status > 299)
      throw new ServiceError('upstream-failed', `The server of the URL answered with status ${status}.`);
    const pieces: Buffer[] = [];
    for await (const piece of body as AsyncIterable<Buffer>) {
      count(piece.length);
      pieces.push(piece);
    }
    const bytes = Buffer.concat(pieces);
    const type = /^image\/[\w.+-]+/i.exec(contentType)?.[0] ?? detectImageType(bytes, contentType);
    if (type === undefined)
      throw new ServiceError('upstream-failed', 'The URL names no image: its type is no image/*.');
    return `data:${type};base64,${bytes.toString('base64')}`;
  } finally {
    body.destroy();
  }
}

/** Faults of Parley stay as they are; all others are faults of the URL. */
function toImageError(thrown: unknown, param: string): ServiceError {
  const error = ServiceError.from(thrown);
  if (error.kind === 'internal' || error.kind === 'overloaded') return error;
  return new ServiceError('invalid-request', `The image cannot be downloaded. ${error.message}`, {
    param,
    cause: error,
  });
}

/** First bytes of images. Storage often states no type, or the type of any bytes. */
const SIGNATURES: readonly (readonly [type: string, start: RegExp])[] = [
  ['image/png', /^\x89PNG/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8/],
  ['image/webp', /^RIFF[^]{4}WEBP/],
  ['image/bmp', /^BM/],
];

function detectImageType(bytes: Buffer, contentType: string): string | undefined {
  if (contentType !== '' && !/\/octet-stream/i.test(contentType)) return undefined;
  const start = bytes.toString('latin1', 0, 12);
  return SIGNATURES.find(([, pattern]) => pattern.test(start))?.[0];
}

const createTooLargeError = (): ServiceError =>
  new ServiceError(
    'upstream-failed',
    `The images of a request may have at most ${REQUEST_IMAGES_BYTES_MAX / 2 ** 20} MiB together.`,
  );

const createTooManyError = (count: number): ServiceError =>
  new ServiceError(
    'invalid-request',
    `A request may name at most ${REQUEST_IMAGE_URLS_MAX} different URLs of images, got ${count}. Send the others as data: URLs.`,
    { param: 'messages' },
  );

interface ByteReservation {
  /** @throws ServiceError `overloaded` beyond the limits. */
  add(bytes: number): void;
  release(): void;
}

/** Counts the bytes of fetched images, of all workspaces and of each. */
function createByteBudget({ totalBytesMax, workspaceBytesMax }: ImageLimits): {
  open(workspace: string): ByteReservation;
} {
  const bytesByWorkspace = new Map<string, number>();
  let total = 0;

  return {
    open(workspace) {
      let reserved = 0;
      const change = (bytes: number): void => {
        const sum = (bytesByWorkspace.get(workspace) ?? 0) + bytes;
        if (sum === 0) bytesByWorkspace.delete(workspace);
        else bytesByWorkspace.set(workspace, sum);
        total += bytes;
        reserved += bytes;
      };
      return {
        add(bytes) {
          const own = (bytesByWorkspace.get(workspace) ?? 0) + bytes;
          if (total + bytes > totalBytesMax || own > workspaceBytesMax) throw createOverloadedError();
          change(bytes);
        },
        release: () => change(-reserved),
      };
    },
  };
}

const createOverloadedError = (): ServiceError =>
  new ServiceError('overloaded', 'The images of running requests take too much memory. Please try again later.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
