import type { Priority } from '../../../core/context.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { CompileGrammars } from '../../grammar-compiler.ts';
import { createKvCache } from '../kv-cache.ts';
import type { PausedStates } from '../paused-states.ts';
import type { PrefixStore } from '../prefix-store.ts';
import type { GenerateCall, OutputLine, EngineRefusal } from '../protocol.ts';
import { createScheduler, type RunHandle, type Scheduler } from '../scheduler.ts';
import { compileTestGrammars, createFakeNativeModel, type FakeNativeModel, type FakeNativeModelOptions } from './fake-native-model.ts';

export interface TestCallOptions extends Partial<Omit<GenerateCall, 'owner'>> {
  readonly prompt?: string;
  readonly workspace?: string;
  readonly key?: string;
  readonly priority?: Priority;
}

/** A request to the scheduler, and everything that was reported for it. */
export interface TestRequest {
  readonly lines: OutputLine[];
  readonly handle: RunHandle;
  readonly refusal: EngineRefusal | undefined;
  /** Resolves after the last line or the refusal. */
  readonly closed: Promise<void>;
  /** False simulates a client that reads too slowly. */
  isReading: boolean;
  getText(choice?: number, phase?: number): string;
  getStarted(): Extract<OutputLine, { type: 'started' }>;
  getFinished(): Extract<OutputLine, { type: 'finished' }>;
  getChoiceEnds(): Extract<OutputLine, { type: 'choice-finished' }>[];
}

export interface TestScheduler {
  readonly model: FakeNativeModel;
  readonly scheduler: Scheduler;
  submit(options?: TestCallOptions): TestRequest;
  /** Lets submitted requests enter, rejects further ones, and waits until nothing runs. */
  drain(): Promise<void>;
  /** Submits a request and waits until it is closed. */
  run(options?: TestCallOptions): Promise<TestRequest>;
}

export interface TestSchedulerOptions extends FakeNativeModelOptions {
  readonly clock?: Clock;
  readonly compileGrammars?: CompileGrammars;
  /** Returns the processor time of the sampling threads, in ms. */
  readonly cpuMs?: () => number;
  readonly prefixStore?: PrefixStore;
  readonly draftTokens?: number;
  readonly queueLengthMax?: number;
  readonly queueWaitMsMax?: number;
  readonly workspaceShare?: number;
  /** Returns false to simulate a full disk. */
  readonly canSaveStates?: () => boolean;
  /** Called before a state is saved or loaded. */
  readonly onMove?: () => Promise<void>;
  readonly readerWaitMsMax?: number;
  /** Called instead of killing the process. */
  readonly killProcess?: () => void;
}

/** A scheduler on a fake model. */
export function createTestScheduler({ clock, compileGrammars = compileTestGrammars, cpuMs = () => 0, prefixStore, draftTokens = 0, queueLengthMax = 8, queueWaitMsMax = 60_000, workspaceShare = 0.5,
  canSaveStates = () => true, onMove, readerWaitMsMax = 60_000,
  killProcess = () => undefined, ...fake }: TestSchedulerOptions = {}): TestScheduler {
  const model = createFakeNativeModel(fake);
  const cells = createKvCache(model, 'none');
  const scheduler = createScheduler(model, {
    choicesMax: model.sequences,
    clock: clock ?? { now: () => 0, monotonic: () => 0 },
    cpuMs,
    queueLengthMax: queueLengthMax,
    queueWaitMsMax,
    readerWaitMsMax,
    workspaceShare,
    cells,
    pausedStates: createMemoryStates(model, canSaveStates, onMove),
    draftTokens,
    random: () => 1,
    compileGrammars: compileGrammars,
    killProcess: killProcess,
    ...(prefixStore ? { prefixStore: prefixStore } : {}),
  });
  const submit = (options: TestCallOptions = {}): TestRequest => submitTestRequest(scheduler, options);
  return {
    model,
    scheduler,
    submit,
    async drain() {
      await new Promise((resolve) => setImmediate(resolve));
      await scheduler.drain();
    },
    async run(options) {
      const request = submit(options);
      await request.closed;
      return request;
    },
  };
}

/** Keeps the states of interrupted choices in memory. */
function createMemoryStates(model: FakeNativeModel, canSave: () => boolean, onMove?: () => Promise<void>): PausedStates {
  const states = new Map<string, readonly number[]>();
  let saved = 0;
  return {
    async save(slot) {
      await onMove?.();
      if (!canSave()) return undefined;
      const file = `state ${++saved}`;
      states.set(file, [...model.cells(slot.sequence)]);
      return { file, bytes: 0, seededTokens: slot.seededTokens, slot, slotUsedAt: slot.usedAt };
    },
    async load({ file, seededTokens }, slot) {
      await onMove?.();
      const tokens = states.get(file) ?? [];
      model.clear(slot.sequence);
      (model.cells(slot.sequence) as number[]).push(...tokens);
      slot.tokens = [...tokens];
      slot.seededTokens = seededTokens;
      return true;
    },
    drop: ({ file }) => void states.delete(file),
  };
}

function submitTestRequest(scheduler: Scheduler, { prompt = 'a prompt', workspace = 'w', key = 'k', priority, ...rest }: TestCallOptions): TestRequest {
  const lines: OutputLine[] = [];
  let refusal: EngineRefusal | undefined;
  const { promise: closed, resolve: end } = Promise.withResolvers<void>();
  const call: GenerateCall = {
    id: 'id',
    owner: { workspace, key, ...(priority ? { priority } : {}) },
    input: { type: 'segments', segments: [{ text: prompt, special: true }] },
    sampling: {},
    stop: { strings: [], tokens: [] },
    choices: 1,
    phases: [],
    ...rest,
  };
  const running = scheduler.submit(call, {
    send(more) {
      lines.push(...more);
      return request.isReading;
    },
    refuse(reason) {
      refusal = reason;
      end();
    },
    end,
  });
  const request: TestRequest = {
    lines,
    handle: running,
    get refusal() {
      return refusal;
    },
    closed: closed,
    isReading: true,
    getText: (choice = 0, phase) =>
      lines
        .map((line) =>
          line.type === 'token' && line.choice === choice && (phase === undefined || line.phase === phase) ? line.text : '',
        )
        .join(''),
    getStarted: () => findLine(lines, 'started'),
    getFinished: () => findLine(lines, 'finished'),
    getChoiceEnds: () => lines.filter((line) => line.type === 'choice-finished'),
  };
  return request;
}

function findLine<Type extends OutputLine['type']>(lines: readonly OutputLine[], type: Type): Extract<OutputLine, { type: Type }> {
  for (const line of lines) if (isLineOfType(line, type)) return line;
  throw new Error(`there is no line ${type} in ${JSON.stringify(lines)}`);
}

const isLineOfType = <Type extends OutputLine['type']>(line: OutputLine, type: Type): line is Extract<OutputLine, { type: Type }> =>
  line.type === type;
