import {
  CONNECTIONS_PER_ADDRESS,
  DEADLINE_UNSTREAMED_MS,
  DEADLINE_STREAM_MS,
  JSON_BODY_BYTES_MAX,
  JSON_DEPTH_MAX,
  KEEP_ALIVE_MS,
  QUEUE_LENGTH_MAX,
  QUEUE_WAIT_MS_MAX,
  REFUSALS_PER_ADDRESS,
} from '../core/limits.ts';
import * as http from './limits.ts';

/** The limits that the configuration or a test can override. */
export const HTTP_LIMITS = {
  bodyBytesMax: JSON_BODY_BYTES_MAX,
  bodiesBytesMax: http.BODIES_BYTES_MAX,
  workspaceBodiesBytesMax: http.WORKSPACE_BODIES_BYTES_MAX,
  bodiesWaitingMax: QUEUE_LENGTH_MAX,
  bodyWaitMs: QUEUE_WAIT_MS_MAX,
  jsonDepthMax: JSON_DEPTH_MAX,
  headerBytesMax: http.HEADER_BYTES_MAX,
  headersReceiveMs: http.HEADERS_RECEIVE_MS_MAX,
  requestReceiveMs: http.REQUEST_RECEIVE_MS_MAX,
  uploadStallMs: http.UPLOAD_STALL_MS,
  transferMs: http.TRANSFER_MS_MAX,
  keepAliveMs: KEEP_ALIVE_MS,
  deadlinePlainMs: DEADLINE_UNSTREAMED_MS,
  deadlineStreamMs: DEADLINE_STREAM_MS,
  readerStallMs: http.READER_STALL_MS_MAX,
  abortGraceMs: http.ABORT_GRACE_MS,
  connectionsPerAddress: CONNECTIONS_PER_ADDRESS,
  refusalsPerAddress: REFUSALS_PER_ADDRESS,
  refusalDelayMs: http.REFUSAL_DELAY_MS,
  socketsMax: http.SOCKETS_MAX,
  socketSendBytesMax: http.SOCKET_SEND_BYTES_MAX,
} as const satisfies Record<string, number>;

export type HttpLimits = { readonly [Name in keyof typeof HTTP_LIMITS]: number };
