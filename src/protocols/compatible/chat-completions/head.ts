/** What every object and chunk of one answer repeats. */
export interface ChatHead {
  /** The body's id is `chatcmpl-` and this, so that it can be found in the log. */
  readonly requestId: string;
  /** Unix seconds. */
  readonly created: number;
  /** As asked. */
  readonly model: string;
}

export const chatId = ({ requestId }: ChatHead): string => `chatcmpl-${requestId}`;
