import type { Catalogue, ModelEntry } from '../../catalogue/model.ts';
import type { Priority, RequestContext } from '../../core/context.ts';
import type { DeploymentRecord } from '../../core/deployment.ts';
import { ServiceError } from '../../core/error.ts';
import type { Usage } from '../../core/event.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { TextEngine } from '../../engines/engine.ts';
import { createCheck } from '../../grammar/check.ts';
import type { Permit } from '../admission.ts';
import { createGenerate } from '../generate.ts';
import type { WithEngineNeeds } from '../with-engine.ts';

export const ENTRY: ModelEntry = {
  name: 'm',
  description: '',
  runs: { type: 'weights', weights: 'w', family: 'template' },
  contextTokens: 100,
  abilities: { tools: false, vision: false, audio: false, logprobs: true, fillInTheMiddle: false },
  interfaces: ['chat'],
  sampling: { temperature: 0.5 },
  created: 0,
};

const catalogueOf = (entry: ModelEntry, record: DeploymentRecord | undefined): Pick<Catalogue, 'resolve'> => ({
  resolve(asked) {
    if (asked !== 'm') throw new ServiceError('model-not-found', 'no such model');
    if (!record) return { asked, entry };
    return { asked, entry: { ...entry, name: record.name }, deployed: { record, base: entry } };
  },
});

export const REQUEST: GenerationRequest = {
  model: 'm',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
  sampling: {},
  stop: { strings: [], tokens: [] },
  choices: 1,
};

interface Settled {
  readonly usage: Usage;
  readonly how: string;
}

/** What a pipeline on an engine is given, the call it is asked in, and the books that are kept of it. */
export function createBooks<Engine>(
  engine: Engine,
  {
    reserve,
    entry = ENTRY,
    priority,
    deployed,
    permit,
  }: {
    readonly reserve?: () => Promise<never>;
    readonly entry?: ModelEntry;
    readonly priority?: Priority;
    /** What `m` is then. */
    readonly deployed?: DeploymentRecord;
    /** What the admission gives out besides. */
    readonly permit?: Partial<Permit>;
  } = {},
) {
  const books = {
    permits: 0,
    releases: 0,
    leases: 0,
    leasesReleased: 0,
    settled: [] as Settled[],
    facts: {} as Record<string, unknown>,
  };
  const caller = new AbortController();
  const context: RequestContext = {
    requestId: 'r',
    owner: { workspace: 'w', region: 'cn-beijing', keyId: 'k' },
    ...(priority ? { priority } : {}),
    signal: caller.signal,
    log: { add: (facts) => void Object.assign(books.facts, facts), warn: () => undefined },
  };
  const needs: WithEngineNeeds<Engine> = {
    catalogue: catalogueOf(entry, deployed),
    engineFor: async () => {
      books.leases++;
      return { engine, release: () => void books.leasesReleased++ };
    },
    admission: {
      admit: async () => {
        books.permits++;
        return { ...permit, release: () => void books.releases++ };
      },
    },
    ledger: { reserve: reserve ?? (async () => ({ settle: (usage, how) => void books.settled.push({ usage, how }) })) },
  };
  return { books, caller, context, needs };
}

/** A pipeline that writes text, and the books it keeps. */
export function createHouse(engine: TextEngine, how: Parameters<typeof createBooks>[1] = {}) {
  const { books, caller, context, needs } = createBooks(engine, how);
  const generate = createGenerate({
    ...needs,
    styleOf: () => ({ stopTokens: [] }),
    ids: { toolCall: () => 'call_1' },
    answerCheck: { problemOf: async (schema, text) => createCheck(schema)(JSON.parse(text)) },
  });
  return {
    books,
    caller,
    context,
    /** What else is built over the pipeline needs. */
    parts: { generate, catalogue: needs.catalogue, engineFor: needs.engineFor },
    generate: (request: Partial<GenerationRequest> = {}) =>
      generate({ ...REQUEST, ...request }, { interface: 'chat' }, context),
  };
}
