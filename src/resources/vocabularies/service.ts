import type { Catalogue } from '../../catalogue/model.ts';
import { ServiceError } from '../../core/error.ts';
import { type Ids, systemIds } from '../../core/id.ts';
import { MODELS_NAMED_MAX } from '../../core/limits.ts';
import type { Hotword } from '../../core/speech.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Place } from '../../store/conversations.ts';
import type { Store } from '../../store/store.ts';
import type { VocabularyEntry, VocabularyRecord } from '../../store/vocabularies.ts';
import { isoOf } from './languages.ts';
import { checkEntries, checkPrefix, checkTargetModel, checkWorkspace, refuse } from './rules.ts';
import type { Vocabularies, VocabularyLimits } from './vocabulary.ts';

export interface VocabulariesNeeds {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids?: Ids;
  /** The one in force now: it changes while the service runs. */
  readonly catalogue: Pick<Catalogue, 'find' | 'list' | 'resolve'>;
  readonly limits: VocabularyLimits;
  /** Whether the model of this name could be asked at this moment. A name that leads nowhere could not. */
  readonly isUsable: (targetModel: string) => Promise<boolean>;
}

export function createVocabularies(needs: VocabulariesNeeds): Vocabularies {
  const { store, clock, ids = systemIds, catalogue, limits, isUsable } = needs;

  const recordOf = async (place: Place, id: string): Promise<VocabularyRecord> =>
    (await store.vocabularies.find(place, id)) ?? noVocabulary(id);

  const checkTarget = (name: string, owner: Place): void => {
    checkTargetModel(name);
    if (!catalogue.find(name)?.interfaces.includes('speech')) refuseTarget(name, catalogue);
    catalogue.resolve(name, { interface: 'speech', owner });
  };

  return {
    async create(owner, { prefix, targetModel, entries }) {
      checkWorkspace(owner);
      const { region, workspace } = owner;
      checkTarget(targetModel, owner);
      checkPrefix(prefix);
      checkEntries(entries, { targetModel, entriesMax: limits.entriesMax });
      const id = ids.sortable(`vocab-${prefix}-`);
      const at = clock.now();
      const record = { id, region, workspace, prefix, targetModel, createdAt: at, modifiedAt: at, entries };
      await store.transaction(async ({ vocabularies }) => {
        if ((await vocabularies.lockCount(owner)) >= limits.listsMax) refuseAnother(limits.listsMax);
        await vocabularies.insert(record);
      });
      return id;
    },

    async list(owner, wish) {
      if (wish.prefix !== undefined) checkPrefix(wish.prefix);
      const heads = await store.vocabularies.list(owner, wish);
      const models = [...new Set(heads.map(({ targetModel }) => targetModel))];
      const usable = new Map(await Promise.all(models.map(async (name) => [name, await isUsable(name)] as const)));
      return heads.map((head) => ({ ...head, isUsable: usable.get(head.targetModel) ?? false }));
    },

    async find(owner, id) {
      const { targetModel, createdAt, modifiedAt, entries } = await recordOf(owner, id);
      return { id, targetModel, createdAt, modifiedAt, entries, isUsable: await isUsable(targetModel) };
    },

    async update(owner, id, entries) {
      const { targetModel } = await recordOf(owner, id);
      checkEntries(entries, { targetModel, entriesMax: limits.entriesMax });
      const isThere = await store.vocabularies.replace(owner, id, { entries, at: clock.now() });
      if (!isThere) noVocabulary(id);
    },

    async delete(owner, id) {
      if (!(await store.vocabularies.remove(owner, id))) noVocabulary(id);
    },

    async findHotwords(owner, id, calledModel) {
      const { targetModel, entries } = await recordOf(owner, id);
      const target = catalogue.find(targetModel);
      if (target === undefined || target.name !== catalogue.find(calledModel)?.name) {
        refuse('vocabulary_id', `must be that of a vocabulary for the model that is called; its own is ${targetModel}`);
      }
      return entries.map(toHotword);
    },
  };
}

const toHotword = ({ text, weight, lang }: VocabularyEntry): Hotword => ({
  text,
  weight,
  ...(lang === undefined ? {} : { language: isoOf(lang) }),
});

function noVocabulary(id: string): never {
  throw new ServiceError('resource-not-found', `There is no vocabulary '${id.slice(0, 80).toWellFormed()}'.`, {
    param: 'vocabulary_id',
  });
}

/** The first sentence is wire.md E7.1's. */
function refuseAnother(listsMax: number): never {
  throw new ServiceError(
    'count-quota',
    `Free allocated quota exceeded. There may be ${listsMax} vocabularies, of all models together.`,
  );
}

function refuseTarget(name: string, catalogue: Pick<Catalogue, 'list'>): never {
  const names = catalogue.list().flatMap((entry) => (entry.interfaces.includes('speech') ? entry.name : []));
  const shown = names.slice(0, MODELS_NAMED_MAX).join(', ');
  refuse('input.target_model', `must lead to a speech recognition model (${shown || 'there is none'})`, name);
}
