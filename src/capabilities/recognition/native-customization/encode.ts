import type { Vocabulary, VocabularySummary } from '../vocabularies/vocabulary.ts';
import type { ZonedTime } from '../../../protocols/fields/zoned-time.ts';

type FormatTime = ZonedTime['format'];

/** Encodes a response; every response has the count 1 (docs/wire/dashscope-native.md#vocabularies). */
export const encodeCustomizationBody = (output: object, requestId: string): object => ({
  output,
  usage: { count: 1 },
  request_id: requestId,
});

/** Encodes a list entry. The Java client needs all four fields, as strings. */
export const encodeSummary = (
  { id, isUsable, createdAt, modifiedAt }: VocabularySummary,
  formatTime: FormatTime,
): object => ({
  gmt_create: formatTime(createdAt),
  gmt_modified: formatTime(modifiedAt),
  status: encodeStatus(isUsable),
  vocabulary_id: id,
});

/** Encodes a vocabulary. The specification's record includes the id; `lang` is present only if it was set. */
export const encodeVocabulary = (vocabulary: Vocabulary, formatTime: FormatTime): object => ({
  gmt_create: formatTime(vocabulary.createdAt),
  vocabulary: vocabulary.entries.map(({ text, weight, lang }) => ({
    ...(lang === undefined ? {} : { lang }),
    text,
    weight,
  })),
  target_model: vocabulary.targetModel,
  gmt_modified: formatTime(vocabulary.modifiedAt),
  status: encodeStatus(vocabulary.isUsable),
  vocabulary_id: vocabulary.id,
});

const encodeStatus = (isUsable: boolean): string => (isUsable ? 'OK' : 'UNDEPLOYED');
