/** Fields that every object and chunk of one response repeats. */
export interface ChatHead {
  /** The id of the response object is `chatcmpl-` plus this id, so that the log line can be found. */
  readonly requestId: string;
  /** Unix seconds. */
  readonly created: number;
  /** Model name in the request. */
  readonly model: string;
}

export const formatChatId = ({ requestId }: ChatHead): string => `chatcmpl-${requestId}`;
