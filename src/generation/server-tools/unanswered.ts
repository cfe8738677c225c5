/** The sentence with which a model is asked to say that the sources do not contain the answer. */
export const NO_ANSWER_SENTENCE = 'The search results do not answer this.';

/** Characters at the start of an answer that are examined. */
export const ANSWER_START_CHARS = 300;

/** A statement that the sources lack the answer is the whole first sentence. Its length is bounded in each part. */
const REST = '[^.!?;:\\n]{0,200}(?:[.!?]|$)';
const LEAD_EN =
  "(?:(?:unfortunately|sorry|i(?: am|['’]m) (?:very )?(?:sorry|afraid)|i apologize)[,.]? (?:but )?(?:that )?)?";
/** Sources that a question is hardly ever about. */
const SOURCES_EN =
  '(?:search results|results of (?:the|this|my) search|sources|(?:provided|given|available|retrieved) (?:sources?|documents?|passages?|texts?|pages?|information|context)|(?:information|context|documents?|sources?) (?:provided|given|available))';
/** Words that may mean what a question is about, as in `The page does not contain JavaScript.` */
const TEXTS_EN = '(?:results?|source|documents?|passages?|texts?|pages?|information|context)';
const NOT_EN = "(?:do|does|did) ?n(?:o|['’])t (?:(?:directly|explicitly|specifically|actually|seem to|appear to) )?";
const VERBS_EN =
  '(?:answer|say|contain|mention|include|provide|specify|state|give|cover|explain|address|tell|describe)';
const OBJECTS_EN =
  '(?:(?:(?:the|this|your|that|an?|any|enough|specific|relevant|direct) ){0,3}(?:question|answer|information|details)|this|that|it|when|where|who|what|which|how|why|whether)';

const SOURCES_ZH = '(?:(?:搜索|检索|搜寻)结果|资料|来源|(?:所提供|提供|给出)的(?:文档|资料|信息|内容))';
const NOT_ZH =
  '(?:中|里|内)?(?:都|均|也|并|似乎)?(?:没有|未能|未|没|不)(?:直接|明确|具体)?(?:提到|提及|包含|说明|回答|给出|提供|涉及)';
const REST_ZH = '[^。！？；：\\n]{0,100}(?:[。！？]|$)';

/** Statements that the sources lack the answer, by language. */
const STATEMENTS: readonly RegExp[] = [
  new RegExp(`^${LEAD_EN}(?:the |these |my )?${SOURCES_EN} ${NOT_EN}${VERBS_EN}\\b${REST}`, 'i'),
  new RegExp(
    `^${LEAD_EN}(?:the|this|these) ${TEXTS_EN} ${NOT_EN}${VERBS_EN}(?: ${OBJECTS_EN}\\b${REST}|(?=[.!]|$)[.!]?)`,
    'i',
  ),
  new RegExp(
    `^${LEAD_EN}(?:there (?:is|was) no|no|i (?:could not|couldn['’]t|cannot|can['’]t|did not|didn['’]t) find (?:any|an|the)?) ?(?:specific |direct |relevant )?(?:information|answer|mention|details)\\b[^.!?;:\\n]{0,80}\\b(?:${SOURCES_EN}|${TEXTS_EN})\\b${REST}`,
    'i',
  ),
  new RegExp(`^(?:抱歉|对不起|很遗憾)?[，,]?(?:根据)?(?:这些|该|以上)?${SOURCES_ZH}${NOT_ZH}${REST_ZH}`),
  new RegExp(
    `^(?:该|这份|这个)?(?:文档|网页|页面)${NOT_ZH}(?:任何|有关|相关)?(?:这个|该|此)?(?:问题|答案|信息|内容)${REST_ZH}`,
  ),
  new RegExp(
    `^(?:leider )?(?:in )?(?:die|den|diesen?) (?:suchergebnissen?|quellen|(?:bereitgestellten|gefundenen|vorliegenden) \\p{L}{1,30}) \\p{L}{1,30}(?: \\p{L}{1,30}){0,5}? (?:nicht(?! nur)|nichts|kein(?:e[nmrs]?)?)(?![\\p{L}])${REST}`,
    'iu',
  ),
  new RegExp(
    `^(?:malheureusement,? )?les (?:résultats de (?:la )?recherche|sources|documents fournis) (?:ne |n['’])\\p{L}{1,30} (?:pas|aucune?)(?!\\p{L})${REST}`,
    'iu',
  ),
  new RegExp(
    `^(?:lamentablemente,? )?(?:los resultados de (?:la )?búsqueda|las fuentes|los documentos proporcionados) no (?:contienen|mencionan|responden|incluyen|dicen|indican|proporcionan)(?!\\p{L})${REST}`,
    'iu',
  ),
];

/** A part of the statement that adds what the sources do say. */
const CONTRAST = /\b(?:but|however|although|though|only|aber|sondern|mais|pero)\b|但|不过|而是|只/i;

/** Matches further sentences that state nothing about the question: they speak about the sources, or to the user. */
const NO_CONTENT =
  /^(?:they (?:are|do|don['’]t|only|mention|contain|describe|discuss|cover|focus|concern)|the (?:search results|results|(?:provided )?(?:sources|documents))|please|(?:you (?:may|might|can|could) (?:want|try|check|consult|visit|ask|search|find more)|i (?:recommend|suggest|cannot|can['’]t|could not|couldn['’]t|am|do not|don['’]t))|sorry|for more|bitte|veuillez|por favor|它们|这些(?:结果|资料|来源)|请|建议|如需|抱歉)(?![\p{L}--[\p{Script=Han}]])/iv;

/** Whether an answer says that the sources do not contain it, and nothing else, in its first ANSWER_START_CHARS characters. */
export function statesNoAnswer(answer: string): boolean {
  const start = answer.trimStart().slice(0, ANSWER_START_CHARS);
  const [statement] = STATEMENTS.flatMap((pattern) => pattern.exec(start)?.[0] ?? []);
  if (statement === undefined || CONTRAST.test(statement.replace(/^.{0,40}\b(?:sorry|afraid|apologize),? but\b/i, '')))
    return false;
  return start
    .slice(statement.length)
    .split(/(?<=[.!?]\s|[。！？\n])/)
    .map((sentence) => sentence.trim())
    .every((sentence) => sentence === '' || NO_CONTENT.test(sentence));
}
