import type { Catalogue, ModelInterface, ResolvedModel } from '../catalogue/model.ts';
import type { RequestContext } from '../core/context.ts';
import type { EngineOwner } from '../engines/engine.ts';
import { present } from '../lib/present.ts';
import type { Admission } from './admission.ts';
import { engineOwnerOf } from './engine-owner.ts';
import type { Ledger, Reservation } from './ledger.ts';
import { modelFacts } from './model-facts.ts';

export interface WithEngineNeeds<Engine> {
  readonly catalogue: Pick<Catalogue, 'resolve'>;
  /** The engine of a model, held until the work is done; loads it if need be. */
  readonly engineFor: (model: ResolvedModel) => Promise<{ readonly engine: Engine; release(): void }>;
  readonly admission: Admission;
  readonly ledger: Ledger;
}

/** What the work consumed, and what came of it. */
interface Done<Result> {
  readonly promptTokens: number;
  readonly result: Result;
}

/**
 * Work that has one answer and writes no text: admitted, held, written down and let go of as a generation is.
 * @throws ServiceError of any kind the catalogue, the admission, the engine or the work refuses with.
 */
export async function withEngine<Engine, Result>(
  { catalogue, engineFor, admission, ledger }: WithEngineNeeds<Engine>,
  asked: { readonly model: string; readonly interface: ModelInterface },
  context: RequestContext,
  work: (engine: Engine, owner: EngineOwner) => Promise<Done<Result>>,
): Promise<Result> {
  const { requestId, owner, signal, log } = context;
  const model = catalogue.resolve(asked.model, { interface: asked.interface, owner });
  log.add(modelFacts(model));
  const owned = { requestId, owner, model: model.entry.name, choices: 1 };
  const permit = await admission.admit({
    ...owned,
    ...present({ priority: context.priority, deployment: model.deployed?.record }),
  });
  const { priority = context.priority } = permit;
  let lease: { readonly engine: Engine; release(): void } | undefined;
  let reservation: Reservation | undefined;
  let done: Done<Result> | undefined;
  try {
    lease = await engineFor(model);
    reservation = await ledger.reserve(owned);
    // How long the texts are is known when the work is done.
    await permit.count?.begin({ promptTokens: undefined, thinks: false });
    done = await work(lease.engine, engineOwnerOf({ owner, ...present({ priority }) }));
    log.add({ promptTokens: done.promptTokens });
    return done.result;
  } finally {
    const how = done ? 'finished' : signal.aborted ? 'cancelled' : 'failed';
    const usage = { promptTokens: done?.promptTokens ?? 0, cachedTokens: 0, completionTokens: 0 };
    permit.release(usage, how);
    lease?.release();
    reservation?.settle(usage, how);
  }
}
