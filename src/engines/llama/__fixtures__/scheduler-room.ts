import type { Priority } from '../../../core/context.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { CompileGrammars } from '../../grammar-compiler.ts';
import type { PrefixStore } from '../prefix-store.ts';
import type { GenerateCall, Line, Refusal } from '../protocol.ts';
import { createScheduler } from '../scheduler.ts';
import type { Running, Scheduler } from '../scheduler.ts';
import { compileTexts, createFakeNativeModel } from './fake-native-model.ts';
import type { FakeNativeModel, FakeOptions } from './fake-native-model.ts';

export interface CallOptions extends Partial<Omit<GenerateCall, 'owner'>> {
  readonly prompt?: string;
  readonly workspace?: string;
  readonly key?: string;
  readonly priority?: Priority;
}

/** One request and what it heard. */
export interface Heard {
  readonly lines: Line[];
  readonly running: Running;
  readonly refusal: Refusal | undefined;
  /** Resolves when the caller has heard the last of it. */
  readonly over: Promise<void>;
  /** When false, the caller is behind. */
  isReading: boolean;
  text(choice?: number, phase?: number): string;
  started(): Extract<Line, { type: 'started' }>;
  finished(): Extract<Line, { type: 'finished' }>;
  ends(): Extract<Line, { type: 'choice-finished' }>[];
}

export interface Room {
  readonly model: FakeNativeModel;
  readonly scheduler: Scheduler;
  submit(options?: CallOptions): Heard;
  /** Takes in what was submitted, takes in nothing more, and waits until nothing runs. */
  idle(): Promise<void>;
  /** Submits and waits for the end. */
  run(options?: CallOptions): Promise<Heard>;
}

export interface RoomOptions extends FakeOptions {
  readonly clock?: Clock;
  readonly compile?: CompileGrammars;
  /** Of threads that sample. */
  readonly cpuMs?: () => number;
  readonly prefixes?: PrefixStore;
  readonly queuePlacesMax?: number;
  readonly queueWaitMsMax?: number;
  readonly readerWaitMsMax?: number;
  /** The process is to end. */
  readonly onEnd?: () => void;
}

/** A scheduler on the fake model. */
export function createRoom({ clock, compile = compileTexts, cpuMs = () => 0, prefixes, queuePlacesMax = 8, queueWaitMsMax = 60_000, readerWaitMsMax = 60_000,
  onEnd = () => undefined, ...fake }: RoomOptions = {}): Room {
  const model = createFakeNativeModel(fake);
  const scheduler = createScheduler(model, {
    clock: clock ?? { now: () => 0, monotonic: () => 0 },
    cpuMs,
    queuePlacesMax,
    queueWaitMsMax,
    readerWaitMsMax,
    stateFile: 'none',
    random: () => 1,
    compile,
    end: onEnd,
    ...(prefixes ? { prefixes } : {}),
  });
  const submit = (options: CallOptions = {}): Heard => submitTo(scheduler, options);
  return {
    model,
    scheduler,
    submit,
    async idle() {
      await new Promise((resolve) => setImmediate(resolve));
      await scheduler.drain();
    },
    async run(options) {
      const heard = submit(options);
      await heard.over;
      return heard;
    },
  };
}

function submitTo(scheduler: Scheduler, { prompt = 'a prompt', workspace = 'w', key = 'k', priority, ...rest }: CallOptions): Heard {
  const lines: Line[] = [];
  let refusal: Refusal | undefined;
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
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
      return heard.isReading;
    },
    refuse(reason) {
      refusal = reason;
      end();
    },
    end,
  });
  const heard: Heard = {
    lines,
    running,
    get refusal() {
      return refusal;
    },
    over,
    isReading: true,
    text: (choice = 0, phase) =>
      lines
        .map((line) =>
          line.type === 'token' && line.choice === choice && (phase === undefined || line.phase === phase) ? line.text : '',
        )
        .join(''),
    started: () => lineOf(lines, 'started'),
    finished: () => lineOf(lines, 'finished'),
    ends: () => lines.filter((line) => line.type === 'choice-finished'),
  };
  return heard;
}

function lineOf<Type extends Line['type']>(lines: readonly Line[], type: Type): Extract<Line, { type: Type }> {
  for (const line of lines) if (isOf(line, type)) return line;
  throw new Error(`there is no line ${type} in ${JSON.stringify(lines)}`);
}

const isOf = <Type extends Line['type']>(line: Line, type: Type): line is Extract<Line, { type: Type }> =>
  line.type === type;
