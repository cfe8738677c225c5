/** Fields that identify one response. */
export interface MessageHead {
  readonly requestId: string;
  /** Model name in the request. */
  readonly model: string;
  /** UTC milliseconds. */
  readonly startedAt: number;
}

export const formatMessageId = ({ requestId }: MessageHead): string => `msg_${requestId}`;
