import { ServiceError, SHUTTING_DOWN_MESSAGE } from '../../../core/error.ts';
import { REALTIME_AUDIO_BYTES_MAX, SOCKET_IDLE_MS_MAX, SOCKET_KEY_CHECK_MS } from './limits.ts';
import { toEngineOwner } from '../../../generation/engine-owner.ts';
import type { SocketContext, SocketPeer, SocketSession } from '../../../protocols/socket-endpoint.ts';
import { createEarlyMessages } from './early-messages.ts';
import type { EarlyMessages } from './early-messages.ts';
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
import { RecognitionTask } from './recognition-task.ts';

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

/** A connection and everything that its handlers remember. */
interface Session {
  readonly deps: RealtimeSessionDeps;
  readonly peer: SocketPeer;
  readonly context: SocketContext;
  state: State;
  isDraining: boolean;
  keyCheckedAt: number;
}

interface FailOptions {
  /** Task id of the message, if no task runs. */
  readonly taskId?: string;
  readonly failure?: TaskFailure;
  readonly code?: number;
}

/**
 * Creates the session of one connection (docs/wire/realtime.md#recognition-messages). Handlers never wait: slow work
 * continues while other messages arrive.
 */
export function createRealtimeSession(
  deps: RealtimeSessionDeps,
  peer: SocketPeer,
  context: SocketContext,
): SocketSession {
  const state: State = { type: 'idle', since: deps.clock.monotonic() };
  const session: Session = { deps, peer, context, state, isDraining: false, keyCheckedAt: 0 };
  return {
    onText: (message) => takeText(session, message),
    onBinary: (message) => runOrFail(session, () => takeAudio(session, message)),
    onTick: () => checkTimes(session),
    drain() {
      session.isDraining = true;
      if (session.state.type === 'idle') closeSession(session, CLOSE_CODES.goingAway, SHUTTING_DOWN_MESSAGE);
    },
    abort(reason) {
      // The service ends, or the key does.
      const code = reason.kind === 'overloaded' ? CLOSE_CODES.goingAway : getCloseCode(reason);
      if (session.state.type === 'idle') closeSession(session, code, reason.message);
      else failSession(session, reason, { code });
    },
    onDisconnect() {
      const endedState = session.state;
      session.state = { type: 'closed' };
      releaseTask(endedState, new ServiceError('cancelled', 'The client disconnected.'));
    },
  };
}

function closeSession(session: Session, code: number, reason: string): void {
  session.state = { type: 'closed' };
  session.peer.close(code, reason);
}

function releaseTask(endedState: State, error: ServiceError): void {
  if ('task' in endedState) endedState.task.abort(error);
  if ('onFinish' in endedState) endedState.onFinish(error);
}

/** Ends the connection and its task, whatever the error concerns. */
function failSession(
  session: Session,
  error: ServiceError,
  { taskId = '', failure = toTaskFailure(error), code }: FailOptions = {},
): void {
  const endedState = session.state;
  if (endedState.type === 'closed') return;
  session.peer.send(encodeTaskFailed('taskId' in endedState ? endedState.taskId : taskId, failure));
  closeSession(session, code ?? getCloseCode(error), failure.code);
  releaseTask(endedState, error);
}

function runOrFail(session: Session, action: () => void): void {
  try {
    action();
  } catch (thrown) {
    failSession(session, ServiceError.from(thrown));
  }
}

function takeText(session: Session, message: Parameters<SocketSession['onText']>[0]): void {
  if (session.state.type === 'closed') return;
  try {
    handleMessage(session, parseMessage(message, { strict: session.deps.strict ?? false }), message.length);
  } catch (thrown) {
    failSession(session, ServiceError.from(thrown), { taskId: findTaskId(message) });
  }
}

function takeAudio(session: Session, message: Uint8Array): void {
  if (message.length > REALTIME_AUDIO_BYTES_MAX)
    throw new ServiceError('too-large', `An audio message may have at most ${REALTIME_AUDIO_BYTES_MAX} bytes.`);
  handleAudio(session, message);
}

function handleMessage(session: Session, message: RealtimeMessage, bytes: number): void {
  const { state } = session;
  const { action, taskId } = message;
  if (state.type === 'closed') return;
  if (action === 'run-task') {
    if (state.type === 'idle') return startTask(session, message);
    throw createOrderError(
      `Task ${state.taskId} has not ended on this connection. Send another run-task after its task-finished.`,
    );
  }
  if (state.type === 'idle') throw createOrderError(`${action} was sent without a task. Send run-task first.`);
  if (taskId.toLowerCase() !== state.taskId.toLowerCase())
    throw createOrderError(`${action} names another task than the running one, which is ${state.taskId}.`);
  if (state.type === 'starting')
    return state.earlyMessages.push(() => runOrFail(session, () => handleMessage(session, message, bytes)), bytes);
  if (state.type === 'finishing') throw createOrderError(`${action} was sent after finish-task.`);
  if (action === 'continue-task') return state.task.setContext(getContextText(message.input));
  session.state = { ...state, type: 'finishing' };
  state.task.finish();
}

function handleAudio(session: Session, bytes: Uint8Array): void {
  const { state } = session;
  if (state.type === 'closed') return;
  if (state.type === 'running') return state.task.push(bytes);
  if (state.type === 'starting')
    return state.earlyMessages.push(() => runOrFail(session, () => handleAudio(session, bytes)), bytes.length);
  throw createOrderError(
    state.type === 'idle' ? 'Audio was sent without a task. Send run-task first.' : 'Audio was sent after finish-task.',
  );
}

function startTask(session: Session, command: RunTaskCommand): void {
  const { deps, peer, context } = session;
  const { taskId, payload } = command;
  const onFinish = startRecognitionRecord({ taskId, model: payload.model }, context, deps);
  const starting = { type: 'starting', taskId, onFinish, earlyMessages: createEarlyMessages(peer) } as const;
  session.state = starting;
  prepareTask(session, starting, command).catch((thrown: unknown) => {
    if (session.state === starting) failSession(session, ServiceError.from(thrown));
  });
}

async function prepareTask(
  session: Session,
  starting: Extract<State, { type: 'starting' }>,
  { payload, unknown }: RunTaskCommand,
): Promise<void> {
  const { deps, context } = session;
  await context.checkKey();
  session.keyCheckedAt = deps.clock.monotonic();
  const resources = await prepareRecognition(payload, context.owner, deps);
  // The client has disconnected or the connection has failed meanwhile.
  if (session.state !== starting) return resources.release();
  runTask(session, starting, resources, [...resources.options.ignored, ...unknown]);
  starting.earlyMessages.handleAll();
}

function runTask(
  session: Session,
  { taskId, onFinish: finishRecord }: Extract<State, { type: 'starting' }>,
  { release, ...resources }: RecognitionResources,
  ignored: readonly string[],
): void {
  const { deps, peer, context } = session;
  const task = new RecognitionTask({
    ...resources,
    id: taskId,
    owner: toEngineOwner(context),
    clock: deps.clock,
    sendEvent: (event) => peer.send(event),
    setReadingPaused: (isPaused) => (isPaused ? peer.pauseReading() : peer.resumeReading()),
    onEnd(outcome) {
      if (outcome.type === 'failed') return failSession(session, outcome.error, { failure: outcome.failure });
      onFinish(undefined);
      completeTask(session, taskId);
    },
  });
  const onFinish: FinishRecognitionRecord = (error) => {
    release();
    finishRecord(error, {
      ...task.getLogFields(),
      hotwords: resources.hotwords.length,
      ...(ignored.length > 0 ? { ignored: ignored.join(',') } : {}),
    });
  };
  session.state = { type: 'running', taskId, task, onFinish };
  peer.send(encodeTaskStarted(taskId, ignored));
}

/** Tells the client that its task has finished; the connection waits for the next one unless the service stops. */
function completeTask(session: Session, taskId: string): void {
  session.peer.send(encodeTaskFinished(taskId));
  if (session.isDraining) closeSession(session, CLOSE_CODES.goingAway, SHUTTING_DOWN_MESSAGE);
  else session.state = { type: 'idle', since: session.deps.clock.monotonic() };
}

/** Closes an idle connection, and checks the time limits and the key of a running task. */
function checkTimes(session: Session): void {
  const { state, deps, context } = session;
  const now = deps.clock.monotonic();
  if (state.type === 'idle' && now - state.since >= SOCKET_IDLE_MS_MAX)
    return closeSession(session, CLOSE_CODES.normal, 'idle');
  if (!('task' in state)) return;
  const { task } = state;
  task.tick();
  if (now - session.keyCheckedAt < SOCKET_KEY_CHECK_MS) return;
  session.keyCheckedAt = now;
  context.checkKey().catch((thrown: unknown) => {
    if ('task' in session.state && session.state.task === task) failSession(session, ServiceError.from(thrown));
  });
}

const createOrderError = (message: string): ServiceError => new ServiceError('invalid-request', message);
