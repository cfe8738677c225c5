import { ServiceError } from '../../../core/error.ts';
import { REALTIME_TEXT_BYTES_MAX } from './limits.ts';
import { parseValue, parseBody } from '../../../protocols/parse.ts';
import { HeaderMessage, ContinueTaskMessage, MESSAGE_TEXTS, TaskIdMessage, RunTaskMessage } from './message-schema.ts';
import type { ContextInput, RunTaskPayload } from './message-schema.ts';
import { isRecord } from '../../../lib/is-record.ts';

/** A text message of the client. */
export type RealtimeMessage =
  | RunTaskCommand
  | { readonly action: 'continue-task'; readonly taskId: string; readonly input: ContextInput }
  | { readonly action: 'finish-task'; readonly taskId: string };

export interface RunTaskCommand {
  readonly action: 'run-task';
  readonly taskId: string;
  readonly payload: RunTaskPayload;
  /** Names of unknown fields. */
  readonly unknown: readonly string[];
}

/** Parses a text message. @throws ServiceError `invalid-request`, `too-large`. @param strict Rejects unknown fields. */
export function parseMessage(text: string, { strict = false } = {}): RealtimeMessage {
  if (Buffer.byteLength(text) > REALTIME_TEXT_BYTES_MAX)
    throw new ServiceError('too-large', `A text message may have at most ${REALTIME_TEXT_BYTES_MAX} bytes.`);
  const value = parseJsonObject(text);
  const { action, task_id: taskId } = parseValue(HeaderMessage, value, { texts: MESSAGE_TEXTS }).header;
  switch (action) {
    case 'run-task': {
      const { wire, unknown } = parseBody(RunTaskMessage, value, { texts: MESSAGE_TEXTS, strict });
      return { action, taskId, payload: wire.payload, unknown: unknown.map((name) => name.replace(/^payload\./, '')) };
    }
    case 'continue-task': {
      const { payload } = parseValue(ContinueTaskMessage, value, { texts: MESSAGE_TEXTS });
      return { action, taskId, input: payload.input };
    }
    case 'finish-task':
      return { action, taskId };
    default:
      throw new ServiceError(
        'invalid-request',
        `header.action must be one of "run-task", "continue-task", "finish-task", got ${JSON.stringify(action.slice(0, 40))}.`,
        { param: 'header.action' },
      );
  }
}

/** Finds the task id in a message that may be invalid otherwise; its error names this id. Empty if there is none. */
export function findTaskId(text: string): string {
  try {
    return TaskIdMessage.safeParse(parseJsonObject(text)).data?.header.task_id ?? '';
  } catch {
    return '';
  }
}

function parseJsonObject(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ServiceError('invalid-request', 'A text message must be one complete JSON object.', { cause: error });
  }
  if (!isRecord(value)) throw new ServiceError('invalid-request', 'A text message must be a JSON object.');
  return value;
}
