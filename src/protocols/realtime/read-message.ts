import { ServiceError } from '../../core/error.ts';
import { REALTIME_TEXT_BYTES_MAX } from '../../core/limits.ts';
import { isPlainObject, parse, parseBody } from '../parse.ts';
import { AnyMessage, ContinueTaskMessage, MESSAGE_TEXTS, NamedMessage, RunTaskMessage } from './message-schema.ts';
import type { ContextInput, RunTask } from './message-schema.ts';

/** What a client says in a text message. */
export type Message =
  | RunTaskWish
  | { readonly action: 'continue-task'; readonly taskId: string; readonly input: ContextInput }
  | { readonly action: 'finish-task'; readonly taskId: string };

export interface RunTaskWish {
  readonly action: 'run-task';
  readonly taskId: string;
  readonly asked: RunTask;
  /** Fields that nobody here knows. */
  readonly unknown: readonly string[];
}

/** @param strict Unknown fields are refused. @throws ServiceError `invalid-request`, `too-large`, `unsupported`. */
export function readMessage(text: string, { strict = false } = {}): Message {
  if (Buffer.byteLength(text) > REALTIME_TEXT_BYTES_MAX)
    throw new ServiceError('too-large', `A message may have at most ${REALTIME_TEXT_BYTES_MAX} bytes.`);
  const value = parsed(text);
  const { action, task_id: taskId } = parse(AnyMessage, value, { texts: MESSAGE_TEXTS }).header;
  switch (action) {
    case 'run-task': {
      const { wire, unknown } = parseBody(RunTaskMessage, value, { texts: MESSAGE_TEXTS, strict });
      return { action, taskId, asked: wire.payload, unknown: unknown.map((name) => name.replace(/^payload\./, '')) };
    }
    case 'continue-task': {
      const { payload } = parse(ContinueTaskMessage, value, { texts: MESSAGE_TEXTS });
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

/** The id that a message names, whatever else is wrong with it: its refusal goes by that name. Empty where there is none. */
export function taskIdOf(text: string): string {
  try {
    return NamedMessage.safeParse(parsed(text)).data?.header.task_id ?? '';
  } catch {
    return '';
  }
}

function parsed(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ServiceError('invalid-request', 'A text message must be one whole JSON object.', { cause: error });
  }
  if (!isPlainObject(value)) throw new ServiceError('invalid-request', 'A text message must be a JSON object.');
  return value;
}
