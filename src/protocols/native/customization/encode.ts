import type { Vocabulary, VocabularySummary } from '../../../resources/vocabularies/vocabulary.ts';
import type { ZonedTime } from '../../fields/zoned-time.ts';

type Show = ZonedTime['show'];

/** wire.md E7.1: every answer is counted as one. */
export const encodeAnswer = (output: object, requestId: string): object => ({
  output,
  usage: { count: 1 },
  request_id: requestId,
});

/** Specification, "Vocabulary". The Java client needs all four, and as strings. */
export const encodeSummary = ({ id, isUsable, createdAt, modifiedAt }: VocabularySummary, show: Show): object => ({
  gmt_create: show(createdAt),
  gmt_modified: show(modifiedAt),
  status: statusOf(isUsable),
  vocabulary_id: id,
});

/** wire.md E7.1; its id is no field of it there, and one of the specification's record. A `lang` that was not given is not told. */
export const encodeVocabulary = (vocabulary: Vocabulary, show: Show): object => ({
  gmt_create: show(vocabulary.createdAt),
  vocabulary: vocabulary.entries.map(({ text, weight, lang }) => ({
    ...(lang === undefined ? {} : { lang }),
    text,
    weight,
  })),
  target_model: vocabulary.targetModel,
  gmt_modified: show(vocabulary.modifiedAt),
  status: statusOf(vocabulary.isUsable),
  vocabulary_id: vocabulary.id,
});

const statusOf = (isUsable: boolean): string => (isUsable ? 'OK' : 'UNDEPLOYED');
