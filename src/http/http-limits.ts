import {
  DEADLINE_UNSTREAMED_MS,
  DEADLINE_STREAM_MS,
  JSON_BODY_BYTES_MAX,
  JSON_DEPTH_MAX,
  KEEP_ALIVE_MS,
} from '../core/limits.ts';
import {
  ABORT_GRACE_MS,
  HEADERS_RECEIVE_MS_MAX,
  HEADER_BYTES_MAX,
  READER_STALL_MS_MAX,
  REQUEST_RECEIVE_MS_MAX,
  SOCKETS_MAX,
  SOCKET_SEND_BYTES_MAX,
  TRANSFER_MS_MAX,
  UPLOAD_STALL_MS,
} from './limits.ts';

/** The limits of core/limits.ts that the configuration or a test can override. */
export const HTTP_LIMITS = {
  bodyBytesMax: JSON_BODY_BYTES_MAX,
  jsonDepthMax: JSON_DEPTH_MAX,
  headerBytesMax: HEADER_BYTES_MAX,
  headersReceiveMs: HEADERS_RECEIVE_MS_MAX,
  requestReceiveMs: REQUEST_RECEIVE_MS_MAX,
  uploadStallMs: UPLOAD_STALL_MS,
  transferMs: TRANSFER_MS_MAX,
  keepAliveMs: KEEP_ALIVE_MS,
  deadlinePlainMs: DEADLINE_UNSTREAMED_MS,
  deadlineStreamMs: DEADLINE_STREAM_MS,
  readerStallMs: READER_STALL_MS_MAX,
  abortGraceMs: ABORT_GRACE_MS,
  socketsMax: SOCKETS_MAX,
  socketSendBytesMax: SOCKET_SEND_BYTES_MAX,
} as const satisfies Record<string, number>;

export type HttpLimits = { readonly [Name in keyof typeof HTTP_LIMITS]: number };
