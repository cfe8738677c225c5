/** What the answer to one request begins with. */
export interface MessageHead {
  readonly requestId: string;
  /** As the caller wrote it. */
  readonly model: string;
  /** UTC milliseconds. */
  readonly startedAt: number;
}

export const messageId = ({ requestId }: MessageHead): string => `msg_${requestId}`;
