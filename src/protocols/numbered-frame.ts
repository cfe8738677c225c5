import { escapeLineEnds, sseData } from '../lib/sse.ts';

export interface NumberedFrame {
  /** Counts from 1. */
  readonly id: number;
  readonly event: string;
  /** Real statuses: clients that are told of one in a comment look here. */
  readonly status: number;
  readonly data: object;
}

/** wire.md 1.1, byte by byte: no blank behind a colon, the status as a comment, one line of JSON. */
export const numberedFrame = ({ id, event, status, data }: NumberedFrame): string =>
  `id:${id}\nevent:${event}\n:HTTP_STATUS/${status}\n${sseData(escapeLineEnds(JSON.stringify(data)), '')}`;
