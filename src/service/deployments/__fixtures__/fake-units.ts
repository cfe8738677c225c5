import type { ModelEntry } from '../../../catalogue/model.ts';
import type { DeploymentRecord } from '../../../core/deployment.ts';
import { ServiceError } from '../../../core/error.ts';
import { NO_STOP } from '../../../core/request.ts';
import type { EngineRequest, TextEngine } from '../../../engines/engine.ts';
import { createScriptedEngine, type ScriptStep } from '../../../engines/scripted/scripted-engine.ts';
import { createEngineView } from '../engine-view.ts';
import type { DeploymentUnits, OpenUnits } from '../deployment-units.ts';

/** An `OpenUnits` that a test controls. */
export interface FakeUnits {
  readonly open: OpenUnits;
  /** All openings, oldest first. */
  readonly opened: FakeOpening[];
  /** Number of units that the machine has memory for. */
  unitsMax: number;
  /** Largest number of units whose calls succeed; with more units, every call fails. */
  answersAtOnce: number;
  /** Number of calls that failed because there were too many units. */
  refused: number;
  /** Error of every opening; undefined: openings succeed. */
  failure: ServiceError | undefined;
  /** Openings wait for this promise. */
  gate: Promise<void>;
}

export interface FakeOpening {
  readonly wanted: number;
  readonly units: number;
  /** False after a test has taken the units down. */
  isUp: boolean;
  isClosed: boolean;
}

/** Scripts by the prompt text: `hang` outputs a token and then stays silent until it is aborted. */
const SCRIPTS: Readonly<Record<string, readonly ScriptStep[]>> = {
  hang: [{ type: 'tokens', tokens: ['one '] }, { type: 'hang' }],
};

export function createFakeUnits(): FakeUnits {
  const fake: FakeUnits = {
    opened: [],
    unitsMax: Infinity,
    answersAtOnce: Infinity,
    refused: 0,
    failure: undefined,
    gate: Promise.resolve(),
    async open({ units: wanted }, signal) {
      const { promise: aborted, reject } = Promise.withResolvers<never>();
      const onAbort = (): void => reject(signal.reason);
      signal.addEventListener('abort', onAbort);
      await Promise.race([fake.gate, aborted]).finally(() => signal.removeEventListener('abort', onAbort));
      if (fake.failure) throw fake.failure;
      const units = Math.min(wanted, fake.unitsMax);
      const opening: FakeOpening = { wanted, units, isUp: true, isClosed: false };
      fake.opened.push(opening);
      return createUnits(opening, fake);
    },
  };
  return fake;
}

function createUnits(opening: FakeOpening, fake: FakeUnits): DeploymentUnits {
  const { wanted, units } = opening;
  const scripted = createScriptedEngine({ script: (request) => SCRIPTS[inputToText(request)] ?? [], sequences: units });
  const engine = createEngineView(scripted, async (request, signal) => {
    if (opening.isClosed) throw new ServiceError('engine-failed', 'The units are closed.');
    if (units > fake.answersAtOnce) {
      fake.refused++;
      throw new ServiceError('engine-failed', 'Out of memory.');
    }
    return await scripted.start(request, signal);
  });
  return {
    engine,
    units: Array.from({ length: units }, () => engine),
    isUp: () => opening.isUp,
    ...(units < wanted ? { reason: `The machine has memory for ${units}.` } : {}),
    connection: { type: 'scripted' },
    processes: [],
    close: async () => void (opening.isClosed = true),
  };
}

const inputToText = ({ input }: EngineRequest): string =>
  input.type === 'segments' ? input.segments.map(({ text }) => text).join('') : '';

/** Creates a request with this prompt. */
export const createTestRequest = (text = 'Hello'): EngineRequest => ({
  id: 'request',
  owner: { workspace: 'primary', key: 'key_1' },
  input: { type: 'segments', segments: [{ text, special: false }] },
  sampling: {},
  stop: NO_STOP,
  choices: 1,
  phases: [],
});

/** Calls the engine and returns the text of its answer. */
export async function collectText(engine: TextEngine, text?: string, signal = new AbortController().signal): Promise<string> {
  let collected = '';
  const { batches } = await engine.start(createTestRequest(text), signal);
  for await (const batch of batches) for (const event of batch) if (event.type === 'text') collected += event.text;
  return collected;
}

/** Creates the record of a deployment with this capacity. */
export const createTestRecord = (capacity: number, change: Partial<DeploymentRecord> = {}): DeploymentRecord => ({
  id: 'dep_1',
  region: 'cn-beijing',
  workspace: 'primary',
  name: 'svc-plus-a',
  modelName: 'svc-plus',
  baseModel: 'svc-plus',
  plan: 'mu',
  baseCapacity: 1,
  capacity,
  readyCapacity: 0,
  ptu: undefined,
  rpmLimit: undefined,
  tpmLimit: undefined,
  status: 'pending',
  generation: capacity,
  appliedGeneration: 0,
  spec: {},
  creator: 'key_1',
  modifier: 'key_1',
  createdAt: 0,
  modifiedAt: 0,
  ...change,
});

/** A catalogue entry. */
export const TEST_ENTRY: ModelEntry = {
  name: 'svc-plus',
  description: '',
  runner: { type: 'weights', weights: 'w', family: 'template' },
  contextTokens: 4_096,
  abilities: { tools: false, vision: false, audio: false, logprobs: true, fillInTheMiddle: false },
  interfaces: ['chat'],
  sampling: {},
  created: 0,
};
