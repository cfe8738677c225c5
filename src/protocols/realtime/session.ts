import { ServiceError } from '../../core/error.ts';
import { REALTIME_AUDIO_BYTES_MAX, SOCKET_IDLE_MS_MAX, SOCKET_KEY_LOOK_MS } from '../../core/limits.ts';
import { engineOwnerOf } from '../../generation/engine-owner.ts';
import type { SocketContext, SocketPeer, SocketSession } from '../socket-endpoint.ts';
import { beginTask } from './begin-task.ts';
import type { BegunTask, BeginNeeds } from './begin-task.ts';
import { CLOSE_CODES, closeCodeOf } from './close-code.ts';
import { failureOf, taskFailed, taskFinished, taskStarted } from './encode-event.ts';
import type { Failure } from './encode-event.ts';
import { readMessage, taskIdOf } from './read-message.ts';
import type { Message, RunTaskWish } from './read-message.ts';
import { recordRecognition } from './recognition-record.ts';
import type { RecordNeeds, Settle } from './recognition-record.ts';
import { contextOf } from './recognition-wish.ts';
import { createTask } from './task.ts';
import type { Task } from './task.ts';

export interface SessionNeeds extends BeginNeeds, RecordNeeds {
  /** Unknown fields are refused instead of being named in task-started. */
  readonly strict?: boolean;
}

/** Where a connection stands. One recognition at a time runs on it. */
type State =
  | { readonly type: 'idle'; readonly since: number }
  /** A run-task came, and its task-started did not go yet. Some clients do not wait for it: what they say waits here. */
  | { readonly type: 'starting'; readonly taskId: string; readonly settle: Settle; readonly early: Early }
  | { readonly type: 'running' | 'finishing'; readonly taskId: string; readonly task: Task; readonly settle: Settle }
  | { readonly type: 'over' };

interface Early {
  readonly steps: (() => void)[];
  bytes: number;
}

interface FailOptions {
  /** Where no task is there to tell it of. */
  readonly taskId?: string;
  readonly failure?: Failure;
  readonly code?: number;
}

/** What comes before task-started and is kept for it: a message of the greatest length, or as much. Beyond: nothing more is read. */
const EARLY_BYTES_MAX = REALTIME_AUDIO_BYTES_MAX;
/** What a message takes besides its bytes. */
const EARLY_STEP_BYTES = 256;

const SHUTTING_DOWN = 'The service is shutting down.';

/** wire.md E7.3 on one connection. It never waits: what takes time goes on while other messages come in. */
export function createSession(needs: SessionNeeds, peer: SocketPeer, context: SocketContext): SocketSession {
  const { clock, strict = false } = needs;
  let state: State = { type: 'idle', since: clock.monotonic() };
  let isDraining = false;
  let keyLookedAt = 0;

  const close = (code: number, reason: string): void => {
    state = { type: 'over' };
    peer.close(code, reason);
  };

  const letGo = (ended: State, error: ServiceError): void => {
    if ('task' in ended) ended.task.abort(error);
    if ('settle' in ended) ended.settle(error);
  };

  /** Whatever was wrong, the task that there is ends with it. */
  const fail = (error: ServiceError, { taskId = '', failure = failureOf(error), code }: FailOptions = {}): void => {
    const ended = state;
    if (ended.type === 'over') return;
    peer.send(taskFailed('taskId' in ended ? ended.taskId : taskId, failure));
    close(code ?? closeCodeOf(error), failure.code);
    letGo(ended, error);
  };

  const start = ({ taskId, asked, unknown }: RunTaskWish): void => {
    const settle = recordRecognition({ taskId, model: asked.model }, context, needs);
    const early: Early = { steps: [], bytes: 0 };
    const starting: State = { type: 'starting', taskId, settle, early };
    state = starting;
    const begin = async (): Promise<void> => {
      await context.checkKey();
      keyLookedAt = clock.monotonic();
      const begun = await beginTask(asked, context.owner, needs);
      // Whoever has left meanwhile needs it no more.
      if (state !== starting) return begun.release();
      run(taskId, begun, { settle, ignored: [...begun.wish.ignored, ...unknown] });
      if (early.bytes > EARLY_BYTES_MAX) peer.release();
      for (const step of early.steps) step();
    };
    begin().catch((thrown: unknown) => {
      if (state === starting) fail(ServiceError.from(thrown));
    });
  };

  const run = (
    taskId: string,
    { release, ...begun }: BegunTask,
    { settle: settleLine, ignored }: { readonly settle: Settle; readonly ignored: readonly string[] },
  ): void => {
    const task = createTask({
      ...begun,
      id: taskId,
      owner: engineOwnerOf(context),
      clock,
      tell: (event) => peer.send(event),
      hold: (isHeld) => (isHeld ? peer.hold() : peer.release()),
      onEnd(end) {
        if (end.type === 'failed') return fail(end.error, { failure: end.failure });
        settle(undefined);
        peer.send(taskFinished(taskId));
        if (isDraining) close(CLOSE_CODES.goingAway, SHUTTING_DOWN);
        else state = { type: 'idle', since: clock.monotonic() };
      },
    });
    const settle: Settle = (error) => {
      release();
      settleLine(error, {
        ...task.facts(),
        hotwords: begun.hotwords.length,
        ...(ignored.length > 0 ? { ignored: ignored.join(',') } : {}),
      });
    };
    state = { type: 'running', taskId, task, settle };
    peer.send(taskStarted(taskId, ignored));
  };

  const wait = (early: Early, step: () => void, bytes: number): void => {
    const isRoom = early.bytes <= EARLY_BYTES_MAX;
    early.steps.push(step);
    early.bytes += bytes + EARLY_STEP_BYTES;
    if (isRoom && early.bytes > EARLY_BYTES_MAX) peer.hold();
  };

  const refusing = (step: () => void): void => {
    try {
      step();
    } catch (thrown) {
      fail(ServiceError.from(thrown));
    }
  };

  const obey = (message: Message, bytes: number): void => {
    const { action, taskId } = message;
    if (state.type === 'over') return;
    if (action === 'run-task') {
      if (state.type === 'idle') return start(message);
      throw outOfOrder(
        `Task ${state.taskId} has not ended on this connection: another one comes after its task-finished.`,
      );
    }
    if (state.type === 'idle') throw outOfOrder(`${action} came without a task: run-task comes first.`);
    if (taskId.toLowerCase() !== state.taskId.toLowerCase())
      throw outOfOrder(`${action} names another task than the one that runs, which is ${state.taskId}.`);
    if (state.type === 'starting') return wait(state.early, () => refusing(() => obey(message, bytes)), bytes);
    if (state.type === 'finishing') throw outOfOrder(`${action} came after finish-task.`);
    if (action === 'continue-task') return state.task.setContext(contextOf(message.input));
    state = { ...state, type: 'finishing' };
    state.task.finish();
  };

  const hear = (bytes: Uint8Array): void => {
    if (state.type === 'over') return;
    if (state.type === 'running') return state.task.push(bytes);
    if (state.type === 'starting') return wait(state.early, () => refusing(() => hear(bytes)), bytes.length);
    throw outOfOrder(
      state.type === 'idle' ? 'Audio came without a task: run-task comes first.' : 'Audio came after finish-task.',
    );
  };

  return {
    text(message) {
      if (state.type === 'over') return;
      try {
        obey(readMessage(message, { strict }), message.length);
      } catch (thrown) {
        fail(ServiceError.from(thrown), { taskId: taskIdOf(message) });
      }
    },
    binary(message) {
      refusing(() => {
        if (message.length > REALTIME_AUDIO_BYTES_MAX) {
          const refusal = `A message of audio may have at most ${REALTIME_AUDIO_BYTES_MAX} bytes.`;
          throw new ServiceError('too-large', refusal);
        }
        hear(message);
      });
    },
    tick() {
      const now = clock.monotonic();
      if (state.type === 'idle' && now - state.since >= SOCKET_IDLE_MS_MAX) return close(CLOSE_CODES.normal, 'idle');
      if (!('task' in state)) return;
      const { task } = state;
      task.tick();
      if (now - keyLookedAt < SOCKET_KEY_LOOK_MS) return;
      keyLookedAt = now;
      context.checkKey().catch((thrown: unknown) => {
        if ('task' in state && state.task === task) fail(ServiceError.from(thrown));
      });
    },
    drain() {
      isDraining = true;
      if (state.type === 'idle') close(CLOSE_CODES.goingAway, SHUTTING_DOWN);
    },
    end(reason) {
      if (state.type === 'idle') close(CLOSE_CODES.goingAway, SHUTTING_DOWN);
      else fail(reason, { code: CLOSE_CODES.goingAway });
    },
    gone() {
      const ended = state;
      state = { type: 'over' };
      letGo(ended, new ServiceError('cancelled', 'The caller left.'));
    },
  };
}

const outOfOrder = (message: string): ServiceError => new ServiceError('invalid-request', message);
