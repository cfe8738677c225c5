import type { ModelEntry } from '../../../catalogue/model.ts';
import type { DeploymentRecord } from '../../../core/deployment.ts';
import { ServiceError } from '../../../core/error.ts';
import { NO_STOP } from '../../../core/request.ts';
import type { EngineRequest, TextEngine } from '../../../engines/engine.ts';
import { createScriptedEngine } from '../../../engines/scripted/scripted-engine.ts';
import type { Step } from '../../../engines/scripted/scripted-engine.ts';
import { lentEngine } from '../lent-engine.ts';
import type { OpenedUnits, OpenUnits } from '../opened-units.ts';

/** Units as a test has them. */
export interface PlayedUnits {
  readonly open: OpenUnits;
  /** Each opening, the oldest first. */
  readonly opened: PlayedOpening[];
  /** Units that the machine holds, whatever is wanted. */
  holds: number;
  /** Units that answer side by side; of more none does. */
  together: number;
  /** Calls that were refused because there were too many units. */
  refused: number;
  /** Why nothing opens. */
  failure: ServiceError | undefined;
  /** Openings wait for this. */
  gate: Promise<void>;
}

export interface PlayedOpening {
  readonly wanted: number;
  readonly units: number;
  /** Where some have gone. */
  up: boolean;
  isClosed: boolean;
}

/** What answers say: `hang` is silent until it is cut off. */
const SCRIPTS: Readonly<Record<string, readonly Step[]>> = {
  hang: [{ type: 'tokens', tokens: ['one '] }, { type: 'hang' }],
};

export function playUnits(): PlayedUnits {
  const played: PlayedUnits = {
    opened: [],
    holds: Infinity,
    together: Infinity,
    refused: 0,
    failure: undefined,
    gate: Promise.resolve(),
    async open({ units: wanted }, signal) {
      const { promise: left, reject } = Promise.withResolvers<never>();
      const leave = (): void => reject(signal.reason);
      signal.addEventListener('abort', leave);
      await Promise.race([played.gate, left]).finally(() => signal.removeEventListener('abort', leave));
      if (played.failure) throw played.failure;
      const units = Math.min(wanted, played.holds);
      const opening: PlayedOpening = { wanted, units, up: true, isClosed: false };
      played.opened.push(opening);
      return unitsOf(opening, played);
    },
  };
  return played;
}

function unitsOf(opening: PlayedOpening, played: PlayedUnits): OpenedUnits {
  const { wanted, units } = opening;
  const scripted = createScriptedEngine({ script: (request) => SCRIPTS[textOf(request)] ?? [], sequences: units });
  const engine = lentEngine(scripted, async (request, signal) => {
    if (opening.isClosed) throw new ServiceError('engine-failed', 'It is closed.');
    if (units > played.together) {
      played.refused++;
      throw new ServiceError('engine-failed', 'No memory is left.');
    }
    return await scripted.start(request, signal);
  });
  return {
    engine,
    units: Array.from({ length: units }, () => engine),
    isUp: () => opening.up,
    ...(units < wanted ? { reason: `The machine holds ${units}.` } : {}),
    reach: { type: 'scripted' },
    processes: [],
    close: async () => void (opening.isClosed = true),
  };
}

const textOf = ({ input }: EngineRequest): string =>
  input.type === 'segments' ? input.segments.map(({ text }) => text).join('') : '';

/** A call that says what it is to hear. */
export const request = (text = 'Hello'): EngineRequest => ({
  id: 'request',
  owner: { workspace: 'primary', key: 'key_1' },
  input: { type: 'segments', segments: [{ text, special: false }] },
  sampling: {},
  stop: NO_STOP,
  choices: 1,
  phases: [],
});

/** Puts a call to an engine and hears all of it. */
export async function hear(engine: TextEngine, text?: string, signal = new AbortController().signal): Promise<string> {
  let heard = '';
  const { batches } = await engine.start(request(text), signal);
  for await (const batch of batches) for (const event of batch) if (event.type === 'text') heard += event.text;
  return heard;
}

/** Of a deployment that wants so many units. */
export const record = (capacity: number, change: Partial<DeploymentRecord> = {}): DeploymentRecord => ({
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
  reached: 0,
  spec: {},
  creator: 'key_1',
  modifier: 'key_1',
  createdAt: 0,
  modifiedAt: 0,
  ...change,
});

/** Of a catalogue. */
export const ENTRY: ModelEntry = {
  name: 'svc-plus',
  description: '',
  runs: { type: 'weights', weights: 'w', family: 'template' },
  contextTokens: 4_096,
  abilities: { tools: false, vision: false, audio: false, logprobs: true, fillInTheMiddle: false },
  interfaces: ['chat'],
  sampling: {},
  created: 0,
};
