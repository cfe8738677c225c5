/** The sentence with which a model is asked to say that the sources do not contain the answer. */
export const NO_ANSWER_SENTENCE = 'The search results do not answer this.';

/** Characters at the start of an answer in which such a statement counts: further on, it concerns a detail. */
export const ANSWER_START_CHARS = 300;

const SOURCES_EN =
  '(?:search results?|results?|sources?|documents?|passages?|texts?|pages?|(?:provided |given )?(?:information|context))';
const VERBS_EN =
  '(?:answer|say|contain|mention|include|provide|specify|state|give|cover|explain|address|tell|describe)';

/** Statements that the sources lack the answer, in the first sentence. Models that answer in other languages rarely use another wording. */
const STATEMENTS: readonly RegExp[] = [
  new RegExp(
    `^[^.!?\\n]{0,60}\\b${SOURCES_EN}\\b[^.!?\\n]{0,40}\\b(?:do|does|did) ?n[o'’]t\\s+[^.!?\\n]{0,30}\\b${VERBS_EN}\\b`,
    'i',
  ),
  new RegExp(
    `^[^.!?\\n]{0,40}\\bno (?:specific |direct )?(?:information|answer|mention)\\b[^.!?\\n]{0,80}\\b${SOURCES_EN}\\b`,
    'i',
  ),
  /^[^。！？\n]{0,20}(?:搜索结果|资料|来源|文档)[^。！？\n]{0,12}(?:没有|未|不)[^。！？\n]{0,6}(?:提到|提及|包含|说明|回答|给出|提供)/,
];

/** Whether an answer begins with the statement that the sources do not contain it. */
export function statesNoAnswer(answer: string): boolean {
  const start = answer.trimStart().slice(0, ANSWER_START_CHARS);
  return STATEMENTS.some((statement) => statement.test(start));
}
