import { escapeLineSeparators, encodeSseData } from '../lib/sse.ts';

export interface NumberedFrame {
  /** Sequence number, from 1. */
  readonly id: number;
  readonly event: string;
  /** HTTP status; clients read the status of a stream event from its comment line. */
  readonly status: number;
  readonly data: object;
}

/**
 * Encodes a DashScope server-sent event: no space after a colon, the status as a comment, one line of JSON
 * (docs/wire/dashscope-native.md#sse-framing).
 */
export const encodeNumberedFrame = ({ id, event, status, data }: NumberedFrame): string =>
  `id:${id}\nevent:${event}\n:HTTP_STATUS/${status}\n${encodeSseData(escapeLineSeparators(JSON.stringify(data)), '')}`;
