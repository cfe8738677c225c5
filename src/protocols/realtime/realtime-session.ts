import { ServiceError } from '../../core/error.ts';
import { REALTIME_AUDIO_BYTES_MAX, SOCKET_IDLE_MS_MAX, SOCKET_KEY_CHECK_MS } from './limits.ts';
import { toEngineOwner } from '../../generation/engine-owner.ts';
import type { SocketContext, SocketPeer, SocketSession } from '../socket-endpoint.ts';
import { prepareRecognition } from './prepare-recognition.ts';
import type { RecognitionResources, RecognitionDeps } from './prepare-recognition.ts';
import { CLOSE_CODES, getCloseCode } from './close-code.ts';
import { toTaskFailure, encodeTaskFailed, encodeTaskFinished, encodeTaskStarted } from './encode-event.ts';
import type { TaskFailure } from './encode-event.ts';
import { parseMessage, findTaskId } from './parse-message.ts';
import type { RealtimeMessage, RunTaskCommand } from './parse-message.ts';
import { startRecognitionRecord } from './recognition-record.ts';
import type { RecognitionRecordDeps, FinishRecognitionRecord } from './recognition-record.ts';
import { getContextText } from './recognition-options.ts';
import { createRecognitionTask } from './recognition-task.ts';
import type { RecognitionTask } from './recognition-task.ts';

export interface RealtimeSessionDeps extends RecognitionDeps, RecognitionRecordDeps {
  /** Rejects unknown fields instead of naming them in task-started. */
  readonly strict?: boolean;
}

/** State of a connection, on which one recognition runs at a time. */
type State =
  | { readonly type: 'idle'; readonly since: number }
  /** A run-task message arrived, task-started is not sent yet. Messages of clients that do not wait are queued. */
  | {
      readonly type: 'starting';
      readonly taskId: string;
      readonly onFinish: FinishRecognitionRecord;
      readonly earlyMessages: EarlyMessages;
    }
  | {
      readonly type: 'running' | 'finishing';
      readonly taskId: string;
      readonly task: RecognitionTask;
      readonly onFinish: FinishRecognitionRecord;
    }
  | { readonly type: 'closed' };

interface EarlyMessages {
  readonly handlers: (() => void)[];
  bytes: number;
}

interface FailOptions {
  /** Task id of the message, if no task runs. */
  readonly taskId?: string;
  readonly failure?: TaskFailure;
  readonly code?: number;
}

/** Bytes of messages that are queued before task-started; reading pauses above it. The largest message fits. */
const EARLY_BYTES_MAX = REALTIME_AUDIO_BYTES_MAX;
/** Estimated memory of a queued message besides its bytes. */
const EARLY_MESSAGE_EXTRA_BYTES = 256;

const SHUTTING_DOWN = 'The service is shutting down.';

/**
 * Creates the session of one connection (docs/wire/realtime.md#recognition-messages). Handlers never wait: slow work
 * continues while other messages arrive.
 */
export function createRealtimeSession(
  deps: RealtimeSessionDeps,
  peer: SocketPeer,
  context: SocketContext,
): SocketSession {
  const { clock, strict = false } = deps;
  let state: State = { type: 'idle', since: clock.monotonic() };
  let isDraining = false;
  let keyCheckedAt = 0;

  const close = (code: number, reason: string): void => {
    state = { type: 'closed' };
    peer.close(code, reason);
  };

  const releaseTask = (endedState: State, error: ServiceError): void => {
    if ('task' in endedState) endedState.task.abort(error);
    if ('onFinish' in endedState) endedState.onFinish(error);
  };

  /** Ends the connection and its task, whatever the error concerns. */
  const fail = (error: ServiceError, { taskId = '', failure = toTaskFailure(error), code }: FailOptions = {}): void => {
    const endedState = state;
    if (endedState.type === 'closed') return;
    peer.send(encodeTaskFailed('taskId' in endedState ? endedState.taskId : taskId, failure));
    close(code ?? getCloseCode(error), failure.code);
    releaseTask(endedState, error);
  };

  const startTask = ({ taskId, payload, unknown }: RunTaskCommand): void => {
    const onFinish = startRecognitionRecord({ taskId, model: payload.model }, context, deps);
    const earlyMessages: EarlyMessages = { handlers: [], bytes: 0 };
    const starting: State = { type: 'starting', taskId, onFinish, earlyMessages };
    state = starting;
    const prepare = async (): Promise<void> => {
      await context.checkKey();
      keyCheckedAt = clock.monotonic();
      const resources = await prepareRecognition(payload, context.owner, deps);
      // The client has disconnected or the connection has failed meanwhile.
      if (state !== starting) return resources.release();
      runTask(taskId, resources, { onFinish, ignored: [...resources.options.ignored, ...unknown] });
      if (earlyMessages.bytes > EARLY_BYTES_MAX) peer.resumeReading();
      for (const handler of earlyMessages.handlers) handler();
    };
    prepare().catch((thrown: unknown) => {
      if (state === starting) fail(ServiceError.from(thrown));
    });
  };

  const runTask = (
    taskId: string,
    { release, ...resources }: RecognitionResources,
    {
      onFinish: finishRecord,
      ignored,
    }: { readonly onFinish: FinishRecognitionRecord; readonly ignored: readonly string[] },
  ): void => {
    const task = createRecognitionTask({
      ...resources,
      id: taskId,
      owner: toEngineOwner(context),
      clock,
      sendEvent: (event) => peer.send(event),
      setReadingPaused: (isPaused) => (isPaused ? peer.pauseReading() : peer.resumeReading()),
      onEnd(outcome) {
        if (outcome.type === 'failed') return fail(outcome.error, { failure: outcome.failure });
        finishTask(undefined);
        peer.send(encodeTaskFinished(taskId));
        if (isDraining) close(CLOSE_CODES.goingAway, SHUTTING_DOWN);
        else state = { type: 'idle', since: clock.monotonic() };
      },
    });
    const finishTask: FinishRecognitionRecord = (error) => {
      release();
      finishRecord(error, {
        ...task.getLogFields(),
        hotwords: resources.hotwords.length,
        ...(ignored.length > 0 ? { ignored: ignored.join(',') } : {}),
      });
    };
    state = { type: 'running', taskId, task, onFinish: finishTask };
    peer.send(encodeTaskStarted(taskId, ignored));
  };

  const queueEarly = (earlyMessages: EarlyMessages, handler: () => void, bytes: number): void => {
    const hadCapacity = earlyMessages.bytes <= EARLY_BYTES_MAX;
    earlyMessages.handlers.push(handler);
    earlyMessages.bytes += bytes + EARLY_MESSAGE_EXTRA_BYTES;
    if (hadCapacity && earlyMessages.bytes > EARLY_BYTES_MAX) peer.pauseReading();
  };

  const runOrFail = (action: () => void): void => {
    try {
      action();
    } catch (thrown) {
      fail(ServiceError.from(thrown));
    }
  };

  const handleMessage = (message: RealtimeMessage, bytes: number): void => {
    const { action, taskId } = message;
    if (state.type === 'closed') return;
    if (action === 'run-task') {
      if (state.type === 'idle') return startTask(message);
      throw createOrderError(
        `Task ${state.taskId} has not ended on this connection. Send another run-task after its task-finished.`,
      );
    }
    if (state.type === 'idle') throw createOrderError(`${action} was sent without a task. Send run-task first.`);
    if (taskId.toLowerCase() !== state.taskId.toLowerCase())
      throw createOrderError(`${action} names another task than the running one, which is ${state.taskId}.`);
    if (state.type === 'starting')
      return queueEarly(state.earlyMessages, () => runOrFail(() => handleMessage(message, bytes)), bytes);
    if (state.type === 'finishing') throw createOrderError(`${action} was sent after finish-task.`);
    if (action === 'continue-task') return state.task.setContext(getContextText(message.input));
    state = { ...state, type: 'finishing' };
    state.task.finish();
  };

  const handleAudio = (bytes: Uint8Array): void => {
    if (state.type === 'closed') return;
    if (state.type === 'running') return state.task.push(bytes);
    if (state.type === 'starting')
      return queueEarly(state.earlyMessages, () => runOrFail(() => handleAudio(bytes)), bytes.length);
    throw createOrderError(
      state.type === 'idle'
        ? 'Audio was sent without a task. Send run-task first.'
        : 'Audio was sent after finish-task.',
    );
  };

  return {
    onText(message) {
      if (state.type === 'closed') return;
      try {
        handleMessage(parseMessage(message, { strict }), message.length);
      } catch (thrown) {
        fail(ServiceError.from(thrown), { taskId: findTaskId(message) });
      }
    },
    onBinary(message) {
      runOrFail(() => {
        if (message.length > REALTIME_AUDIO_BYTES_MAX) {
          const refusal = `An audio message may have at most ${REALTIME_AUDIO_BYTES_MAX} bytes.`;
          throw new ServiceError('too-large', refusal);
        }
        handleAudio(message);
      });
    },
    onTick() {
      const now = clock.monotonic();
      if (state.type === 'idle' && now - state.since >= SOCKET_IDLE_MS_MAX) return close(CLOSE_CODES.normal, 'idle');
      if (!('task' in state)) return;
      const { task } = state;
      task.tick();
      if (now - keyCheckedAt < SOCKET_KEY_CHECK_MS) return;
      keyCheckedAt = now;
      context.checkKey().catch((thrown: unknown) => {
        if ('task' in state && state.task === task) fail(ServiceError.from(thrown));
      });
    },
    drain() {
      isDraining = true;
      if (state.type === 'idle') close(CLOSE_CODES.goingAway, SHUTTING_DOWN);
    },
    abort(reason) {
      if (state.type === 'idle') close(CLOSE_CODES.goingAway, SHUTTING_DOWN);
      else fail(reason, { code: CLOSE_CODES.goingAway });
    },
    onDisconnect() {
      const endedState = state;
      state = { type: 'closed' };
      releaseTask(endedState, new ServiceError('cancelled', 'The client disconnected.'));
    },
  };
}

const createOrderError = (message: string): ServiceError => new ServiceError('invalid-request', message);
