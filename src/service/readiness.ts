import { ownInterfaces } from '../catalogue/model.ts';
import type { Catalogue, ModelEntry, ModelInterface } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import type { RegionId } from '../core/region.ts';
import type { TextEngine } from '../engines/engine.ts';
import type { Clock } from '../lib/clock.ts';
import { interfaceStates } from '../protocols/interfaces.ts';
import type { InterfaceState, Route } from '../protocols/interfaces.ts';
import type { ModelEngines } from './model-engines.ts';

/** A token younger than this, in ms, shows that generation works (issue 1/12). */
const TOKEN_AGE_MS_MAX = 10_000;

/** Ours: longest wait for the one token that /ready asks for, in ms. */
const PROBE_MS_MAX = 30_000;

/** The model whose answer makes the service ready: what a newcomer's first call uses. */
export const DEFAULT_MODEL = 'svc-plus';

export interface ModelReport {
  readonly model: string;
  readonly state: string;
  readonly reason?: string;
}

/** Something that models may use on our side. `unproven`: nobody has tried yet whether it holds here. */
export interface ToolReport {
  readonly tool: string;
  readonly state: 'on' | 'off' | 'unproven';
  readonly detail?: string;
  readonly reason?: string;
}

export interface Report {
  readonly interfaces: readonly InterfaceState[];
  readonly models: readonly ModelReport[];
  readonly tools: readonly ToolReport[];
}

/** Of a model all of whose interfaces are off. */
const UNSERVED = 'its interfaces are not served by this version';

interface Needs {
  readonly catalogue: Pick<Catalogue, 'list' | 'find'>;
  readonly engines: ModelEngines;
  readonly served: readonly Route[];
  /** What models can be asked for by these endpoints. */
  readonly interfaces: readonly ModelInterface[];
  readonly regions: readonly RegionId[];
  readonly clock: Clock;
  readonly tools: () => readonly ToolReport[];
}

/** What is on, what is off, and why: the start-up tree and /ready say the same. */
export async function report({ catalogue, engines, served, interfaces, regions, tools }: Needs): Promise<Report> {
  const models = await Promise.all(
    catalogue.list().map(async (entry) => {
      const isServed = ownInterfaces(entry).some((each) => interfaces.includes(each));
      if (entry.runs.type !== 'none' && !isServed) return { model: entry.name, state: 'off', reason: UNSERVED };
      return { model: entry.name, ...(await engines.stateOf(entry)) };
    }),
  );
  const lacking = (needed: ModelInterface): string | undefined => whyNoModel(catalogue.list(), models, needed);
  return { interfaces: interfaceStates(served, { regions, byModel: interfaces, lacking }), models, tools: tools() };
}

/** Undefined when some model serves it. Else why the first one that would does not. */
function whyNoModel(
  entries: readonly ModelEntry[],
  models: readonly ModelReport[],
  needed: ModelInterface,
): string | undefined {
  const serving = entries.filter(({ interfaces }) => interfaces.includes(needed)).map(({ name }) => name);
  const told = models.filter(({ model }) => serving.includes(model));
  if (told.some(({ state }) => state !== 'off')) return undefined;
  return told[0]?.reason ?? 'no model of this service is for it';
}

/** Whether a token can be generated now: one was seen lately, or one is generated. */
export async function readiness(needs: Needs): Promise<{ ready: boolean; reason?: string } & Report> {
  const entry = needs.catalogue.find(DEFAULT_MODEL);
  const lastTokenAt = entry && needs.engines.lastTokenAt(entry);
  const isFresh = lastTokenAt !== undefined && needs.clock.monotonic() - lastTokenAt <= TOKEN_AGE_MS_MAX;
  const reason = isFresh ? undefined : await whyNot(needs, entry);
  return { ready: reason === undefined, ...(reason === undefined ? {} : { reason }), ...(await report(needs)) };
}

async function whyNot({ engines }: Needs, entry: ModelEntry | undefined): Promise<string | undefined> {
  if (!entry) return `there is no model ${DEFAULT_MODEL}`;
  const state = await engines.stateOf(entry);
  if (state.state !== 'ready' && state.state !== 'on-demand' && state.state !== 'starting') return state.reason;
  try {
    const lease = await engines.engineFor({ asked: DEFAULT_MODEL, entry });
    return await oneToken(lease.engine).finally(lease.release);
  } catch (error) {
    return ServiceError.from(error).message;
  }
}

/** Undefined when the engine gave a token and its end. */
async function oneToken(engine: TextEngine): Promise<string | undefined> {
  const isChat = engine.capabilities.input === 'chat';
  const started = await engine.start(
    {
      id: 'ready',
      owner: { workspace: '', key: 'ready' },
      input: isChat
        ? { type: 'messages', messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] }
        : { type: 'segments', segments: [{ text: 'Hi', special: false }] },
      sampling: { temperature: 0 },
      stop: { strings: [], tokens: [] },
      choices: 1,
      maxTokens: 1,
      phases: [],
    },
    AbortSignal.timeout(PROBE_MS_MAX),
  );
  for await (const batch of started.batches) if (batch.at(-1)?.type === 'end') return undefined;
  return 'the engine gave no end';
}
