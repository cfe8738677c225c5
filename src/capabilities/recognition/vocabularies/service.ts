import type { Catalogue } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import { type IdGenerator, systemIdGenerator } from '../../../core/id.ts';
import { MODELS_NAMED_MAX } from '../../../core/limits.ts';
import type { Hotword } from '../../../core/speech.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { TenantScope } from '../../../store/tenant-scope.ts';
import type { Store } from '../../../store/store.ts';
import type { VocabularyEntry, VocabularyRecord } from '../../../store/vocabularies.ts';
import { toIso639 } from './languages.ts';
import { checkEntries, checkPrefix, checkTargetModel, checkWorkspace, throwInvalidField } from './rules.ts';
import type { Vocabularies, VocabularyLimits } from './vocabulary.ts';

export interface VocabulariesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids?: IdGenerator;
  /** The current catalogue, which can change while the service runs. */
  readonly catalogue: Pick<Catalogue, 'find' | 'list' | 'resolve'>;
  readonly limits: VocabularyLimits;
  /** Returns whether the model can serve requests now; false for an unknown name. */
  readonly isUsable: (targetModel: string) => Promise<boolean>;
}

export function createVocabularies(deps: VocabulariesDeps): Vocabularies {
  const { store, clock, ids = systemIdGenerator, catalogue, limits, isUsable } = deps;

  const findRecord = async (scope: TenantScope, id: string): Promise<VocabularyRecord> =>
    (await store.vocabularies.find(scope, id)) ?? throwVocabularyNotFound(id);

  const checkTarget = async (name: string, owner: TenantScope): Promise<void> => {
    checkTargetModel(name);
    if (!catalogue.find(name)?.interfaces.includes('speech')) throwInvalidTarget(name, catalogue);
    await catalogue.resolve(name, { interface: 'speech', owner });
  };

  return {
    async create(owner, { prefix, targetModel, entries }) {
      checkWorkspace(owner);
      const { region, workspace } = owner;
      await checkTarget(targetModel, owner);
      checkPrefix(prefix);
      checkEntries(entries, { targetModel, entriesMax: limits.entriesMax });
      const id = ids.createSortableId(`vocab-${prefix}-`);
      const at = clock.now();
      const record = { id, region, workspace, prefix, targetModel, createdAt: at, modifiedAt: at, entries };
      await store.transaction(async ({ vocabularies }) => {
        if ((await vocabularies.lockCount(owner)) >= limits.vocabulariesMax) throwQuotaExceeded(limits.vocabulariesMax);
        await vocabularies.insert(record);
      });
      return id;
    },

    async list(owner, query) {
      if (query.prefix !== undefined) checkPrefix(query.prefix);
      const summaries = await store.vocabularies.list(owner, query);
      const models = [...new Set(summaries.map(({ targetModel }) => targetModel))];
      const usable = new Map(await Promise.all(models.map(async (name) => [name, await isUsable(name)] as const)));
      return summaries.map((head) => ({ ...head, isUsable: usable.get(head.targetModel) ?? false }));
    },

    async find(owner, id) {
      const { targetModel, createdAt, modifiedAt, entries } = await findRecord(owner, id);
      return { id, targetModel, createdAt, modifiedAt, entries, isUsable: await isUsable(targetModel) };
    },

    async update(owner, id, entries) {
      const { targetModel } = await findRecord(owner, id);
      checkEntries(entries, { targetModel, entriesMax: limits.entriesMax });
      const exists = await store.vocabularies.replace(owner, id, { entries, at: clock.now() });
      if (!exists) throwVocabularyNotFound(id);
    },

    async delete(owner, id) {
      if (!(await store.vocabularies.remove(owner, id))) throwVocabularyNotFound(id);
    },

    async findHotwords(owner, id, calledModel) {
      const { targetModel, entries } = await findRecord(owner, id);
      const target = catalogue.find(targetModel);
      if (target === undefined || target.name !== catalogue.find(calledModel)?.name) {
        throwInvalidField(
          'vocabulary_id',
          `must name a vocabulary of the requested model; this vocabulary belongs to ${targetModel}`,
        );
      }
      return entries.map(toHotword);
    },
  };
}

const toHotword = ({ text, weight, lang }: VocabularyEntry): Hotword => ({
  text,
  weight,
  ...(lang === undefined ? {} : { language: toIso639(lang) }),
});

function throwVocabularyNotFound(id: string): never {
  throw new ServiceError('resource-not-found', `Vocabulary '${id.slice(0, 80).toWellFormed()}' not found.`, {
    param: 'vocabulary_id',
  });
}

/** The first sentence is prescribed (docs/wire/dashscope-native.md#vocabularies). */
function throwQuotaExceeded(listsMax: number): never {
  throw new ServiceError(
    'count-quota',
    `Free allocated quota exceeded. A workspace may have at most ${listsMax} vocabularies.`,
  );
}

function throwInvalidTarget(name: string, catalogue: Pick<Catalogue, 'list'>): never {
  const names = catalogue.list().flatMap((entry) => (entry.interfaces.includes('speech') ? entry.name : []));
  const shown = names.slice(0, MODELS_NAMED_MAX).join(', ');
  throwInvalidField(
    'input.target_model',
    `must name a speech recognition model (${shown || 'none is available'})`,
    name,
  );
}
