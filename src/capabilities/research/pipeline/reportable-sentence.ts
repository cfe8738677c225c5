import { RESEARCH_SENTENCE_CHARS_MAX } from './limits.ts';
import { isUnspaced } from '../../../generation/citations/claims.ts';
import { splitSentences, addCitationMark } from './sentences.ts';

/**
 * Reports whether a sentence can stand in a report: one complete plain statement. Excludes menu entries, code,
 * addresses, questions and references to another part of the page.
 */
export function isReportable(sentence: string): boolean {
  const isUnspacedText = isUnspaced(sentence);
  const [charactersMin, charactersMax] = isUnspacedText
    ? [12, RESEARCH_SENTENCE_CHARS_MAX / 2]
    : [32, RESEARCH_SENTENCE_CHARS_MAX];
  if (sentence.length < charactersMin || sentence.length > charactersMax) return false;
  if (!SENTENCE_START.test(sentence) || !isComplete(sentence)) return false;
  return isUnspacedText || (isProse(sentence) && isStatement(sentence));
}

/** Reports whether a sentence without a subject can stand in a report after the name that it describes. */
export const isReportableEntry = (sentence: string): boolean =>
  sentence.length >= 20 &&
  sentence.length <= RESEARCH_SENTENCE_CHARS_MAX &&
  LIST_ENTRY.test(sentence) &&
  isComplete(sentence) &&
  isProse(sentence);

/** The sentence is whole, has no markup, and does not refer to another part of its page. */
const isComplete = (sentence: string): boolean =>
  SENTENCE_END.test(sentence) &&
  isSingleSentence(sentence) &&
  !NON_PROSE.test(sentence) &&
  !PAGE_REFERENCE.test(sentence) &&
  !PAGE_REFERENCE_ZH.test(sentence) &&
  !MODEL_INSTRUCTION.test(sentence) &&
  hasBalancedBrackets(sentence);

/** The sentence must not split in two when its citation mark is inserted. */
const isSingleSentence = (sentence: string): boolean => splitSentences(addCitationMark(sentence, 1)).length === 1;

/** A capital letter, or a name of code such as `vacuum_cost_limit` or `json.dumps()`. */
const SENTENCE_START =
  /^["'“‘«「『(（]?(?:[\p{Lu}\p{Lo}\p{N}]|\p{Ll}[\p{L}\p{N}]*(?:_[\p{L}\p{N}]|\.\p{Ll}|\(\)|\p{Lu}))/u;
const SENTENCE_END = /(?<![.…])[.。]["'”’»」』)）]?$/;

/** Characters of markup and layout, addresses, paths, lists of strings, and rows of numbers. */
const NON_PROSE =
  /[`|{}<>\\#*[\]•→←↑↓✓✗©®™]|~~|__|https?:|www\.|\/\/|@[\w/]|(?<!\w)\.{1,2}\/|\w\/\w+\/\w|;\s*\w+;|:\s*:|\.\.\.|…|\p{Extended_Pictographic}(?<!\p{N})|['"]\s*[,:]\s*['"]|(?:\d[\d.,]*\s+){4}/u;

/** A name of code: a setting, an option, a call, an assignment. A sentence may name a few. */
const CODE_NAME = /\w_\w|[a-z]\.[a-z]|(?:^|["'(])--?\w|\w\([^)\s]*\)|[=^~$]|\w\.\w+\(/;

/** Share of the words of a sentence that may be names of code. */
const CODE_NAMES_SHARE_MAX = 0.3;

/** Phrases that only make sense on their page, or state nothing. */
const PAGE_REFERENCE =
  /\b(?:below|above|following|as follows|see also|click|check out|read more|learn more|sign (?:in|up)|subscribe|cookies?|this (?:section|page|document|readme|guide|article|table|figure|example|tutorial|chapter|post|repo|repository|file|issue|list)|(?:these|those) (?:docs|examples|options)|here (?:is|are)|next section|table of contents|changelog|pull requests?|github issues?|copyright|all rights reserved|licensed? under|(?:MIT|ISC|BSD|Apache)[- ](?:\d\S* )?licen[sc]ed?|npm install|contribut(?:e|ing|ors|ions?)|sponsors?|thanks? (?:to|you|for)|please|stack ?overflow|discord|twitter)\b|^(?:see|note that|note|for (?:more|further|detailed|full) (?:information|details|documentation)|to (?:install|run|build|start|use) |let's|let us|feel free|want to|if you(?:'re| are)|you(?:'ll| will)? need to|install |run |clone |import |add |try |make sure|be sure|don't|do not |today we|in this )/i;

/** Instructions to a model that reads the page. A report would pass them on to models that read the report. */
const MODEL_INSTRUCTION =
  /\b(?:ignor|disregard|forget|overrid)(?:e|ing|s)?\b.{0,40}\b(?:instructions?|prompts?|rules|guidelines)\b|\bsystem prompt\b|\byou are (?:now )?(?:an? )?(?:AI|assistant|chatbot|(?:large )?language model)\b|(?:忽略|无视|忘记).{0,12}(?:指令|指示|提示词)|系统提示词/i;

const PAGE_REFERENCE_ZH =
  /如下|下面|上面|下文|上文|下图|上图|下表|如图|见图|见表|本文|本页|本节|本章|本站|点击|登录|注册|版权|转载|扫码|关注我们|阅读全文|更多内容|责任编辑|查看/;

/** Every opened bracket and double quote is closed. */
function hasBalancedBrackets(sentence: string): boolean {
  let depth = 0;
  for (const sign of sentence.match(/[()（）“”]/g) ?? []) {
    depth += /[(（“]/.test(sign) ? 1 : -1;
    if (depth < 0) return false;
  }
  return depth === 0 && (sentence.match(/"/g)?.length ?? 0) % 2 === 0;
}

/** For scripts with spaces: enough words, mostly letters, and few capitalized words and numbers. */
function isProse(sentence: string): boolean {
  const words = sentence.split(/\s+/);
  if (words.length < WORDS_MIN) return false;
  const letters = sentence.match(/\p{L}/gu)?.length ?? 0;
  const characters = sentence.replaceAll(/\s/g, '').length;
  const capitals = words.filter((word) => /^["'“(]?\p{Lu}/u.test(word)).length;
  const numbers = words.filter((word) => /\p{N}/u.test(word)).length;
  const isLatin = /^[\p{ASCII}\p{Script=Latin}\p{P}]+$/u.test(sentence);
  return (
    letters >= 0.75 * characters &&
    words.filter((word) => CODE_NAME.test(word)).length <= CODE_NAMES_SHARE_MAX * words.length &&
    capitals <= 0.5 * words.length &&
    numbers <= 0.35 * words.length &&
    (!isLatin || words.filter((word) => FUNCTION_WORD.test(word)).length >= 2)
  );
}

const WORDS_MIN = 6;

/** For English: the sentence has a subject and a verb. Entries of reference pages lack one of them. */
function isStatement(sentence: string): boolean {
  if (!/\b(?:the|of|and|to|is|in|for|with|a)\b/.test(sentence)) return true;
  return (
    (!LIST_ENTRY.test(sentence) || NAME_START.test(sentence)) &&
    !LABELED_ENTRY.test(sentence) &&
    (VERB.test(sentence) || sentence.split(' ').length > LIST_ENTRY_WORDS_MAX)
  );
}

/** Two capitalized words are a name, even if the first is also a verb: `Read Committed`. */
const NAME_START = /^["'“(]?\p{Lu}\S* \p{Lu}\p{Ll}/u;

/** Words of a reference entry. A longer sentence has a verb, even if not one of `VERB`. */
const LIST_ENTRY_WORDS_MAX = 11;

/** Entries of page lists, such as `Routes: Details how routes are registered.` */
const LABELED_ENTRY =
  /^["'“(]?[^\s:]+(?: [^\s:]+){0,4}: \p{Lu}\p{Ll}+s (?!(?:is|are|was|were|has|have|had|can|may|will|must)\b)/u;

const LIST_ENTRY =
  /^["'“(]?(?:no\.|default\b|options?\b:|example\b|warning\b|optional\b|required\b|deprecated\b|useful\b|only\b|can\b|may\b|must\b|should\b|used\b|set\b|get\b|gets\b|sets\b|use\b|create\b|start\b|stop\b|register\b|deregister\b|return\b|read\b|check\b|find\b|call\b|pass\b|enable\b|disable\b|specify\b|define\b|provide\b|remove\b|write\b|keep\b|prefer\b|avoid\b|consider\b|ensure\b|remember\b|open\b|update\b|change\b|convert\b|generate\b|list\b|select\b|choose\b|apply\b|push\b|replace\b|allow\b|be\b|refer\b|automatically\b|internally\b|same as\b|whether\b|how\b|(?:give|add|allow|return|use|create|provide|define|make|enable|include|contain|support|attempt|register|check|find|convert|generate|specifie|determine|control|represent|indicate|cause|accept|call|run|take|apply|applie|disable|remove|replace|load|parse|build|wrap|wait|emit|trigger|throw|lookup|look|read|write|send|fetch|help|serve|implement|invoke|resolve|require|validate|print|execute|override|ensure|prevent|handle|expose|describe|list|show|work|deregister|fire|perform|increment|decrement|copie|render|transform|extend|configure|reset|spawn|queue|decode|encode|free)(?:s|es)\b)/i;

const VERB =
  /\b(?:is|are|was|were|has|have|had|can|cannot|could|may|might|must|will|would|should|does|do|did|need|needs|\w{2,}ed|uses?|allows?|provides?|supports?|includes?|returns?|requires?|enables?|contains?|makes?|works?|helps?|takes?|gives?|offers?|adds?|creates?|runs?|becomes?|means?|lets?|follows?|defines?|represents?|accepts?|began|became|built|came|fell|found|gave|grew|held|kept|knew|led|left|lost|made|met|paid|ran|rose|said|saw|sent|set|sold|spent|stood|took|told|thought|went|won|wrote|\w{3,}(?:ates|izes|ises|ifies|uces|ents|acts|ains|eads|ects|ends|ults|ists|ows|olves|ives|aves|ares)|\w{3,}[^\Wus]s (?:an?|the|to|that|as|its|their|all|no|any|each|every|\d+))\b/i;

/** Function words of languages in Latin letters. Sentences contain some; lists and menus do not. */
const FUNCTION_WORD =
  /^["'“(]?(?:the|an?|of|to|is|are|was|were|be|been|in|on|for|and|or|by|with|that|which|as|it|its|from|at|this|can|has|have|not|but|der|die|das|und|ist|ein|eine|von|zu|den|dem|mit|für|auf|le|la|les|des|du|de|et|est|un|une|dans|que|qui|pour|el|los|las|en|y|es|por|con|il|di|che|è|per|o|os|um|uma|em|não)[,;:.)]?$/i;
