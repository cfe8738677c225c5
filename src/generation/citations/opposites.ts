import { stemWord } from './claims.ts';

/**
 * Returns the words that state the opposite of a word when they replace it, as stems: `minimum` for `maximum`, `enabl`
 * for `disabl`, `valid` for `invalid`. Empty for words without one.
 */
export const findOpposites = (stem: string): ReadonlySet<string> => OPPOSITES.get(stem) ?? NO_WORDS;

/** Whether one word is the other with a negating prefix: `unlocked` and `locked`. Both are stems. */
export const isNegatedForm = (one: string, other: string): boolean =>
  NEGATING_PREFIXES.some((prefix) => one === prefix + other || other === prefix + one);

/** Whether a word only relates two things, so that exchanging them reverses the meaning: `A before B`. */
export const isRelation = (stem: string): boolean => RELATIONS.has(stem);

const NEGATING_PREFIXES = ['un', 'in', 'im', 'ir', 'il', 'non', 'dis', 'de', 'anti'];

const NO_WORDS: ReadonlySet<string> = new Set();

/** Pairs that relate two things: `A is older than B` is `B is newer than A`. */
const RELATION_PAIRS =
  'before/after earlier/later older/newer less/more fewer/more smaller/larger lower/higher shorter/longer slower/faster above/below over/under greater/less precedes/follows parent/child minus/minus than/than ' +
  '大于/小于 高于/低于 多于/少于 早于/晚于 之前/之后 以前/以后';

/** Pairs of Chinese, some of which Japanese shares. `允许` and `禁止` differ by a negation (`negations.ts`). */
const CHINESE_PAIRS =
  '启用/禁用 启用/停用 启用/关闭 啟用/停用 開啟/關閉 开启/关闭 打开/关闭 开启/禁用 启动/停止 開始/終了 开始/结束 增加/减少 增大/减小 上升/下降 升高/降低 提高/降低 最大/最小 最多/最少 ' +
  '最高/最低 最新/最旧 最早/最晚 至少/至多 上限/下限 允许/拒绝 接受/拒绝 成功/失败 添加/删除 新增/删除 加密/解密 压缩/解压 编码/解码 读取/写入 输入/输出 上传/下载 同步/异步 升序/降序 ' +
  '公开/私有 本地/远程 内部/外部 静态/动态 自动/手动 必需/可选 必填/可选 有效/无效 有効/無効 升级/降级 锁定/解锁 阻塞/放行';

/** Pairs that describe one thing: Parley's own list of frequent English pairs, without negating words. */
const PAIRS =
  'first/last first/second first/final second/third enable/disable updated/original new/original new/old old/recent minimum/maximum min/max minimize/maximize minimal/maximal lower/upper ' +
  'low/high less/greater increase/decrease rise/fall rose/fell grow/shrink grew/shrank open/close opened/closed start/end start/stop begin/end ' +
  'began/ended allow/forbid allow/prevent allow/deny allow/prohibit permit/forbid permit/prohibit accept/reject accept/refuse include/exclude add/remove ' +
  'insert/delete create/delete create/destroy create/drop read/write readers/writers input/output true/false succeed/fail success/failure ' +
  'always/sometimes all/some same/different equal/different identical/different local/remote local/global public/private client/server ' +
  'caller/callee left/right top/bottom inside/outside internal/external inner/outer early/late previous/next past/future fast/slow large/small big/small ' +
  'long/short many/few strong/weak ascending/descending positive/negative required/optional mandatory/optional implicit/explicit automatic/manual ' +
  'automatically/manually static/dynamic synchronous/asynchronous encode/decode encrypt/decrypt compress/decompress import/export push/pull send/receive ' +
  'source/target source/destination sender/receiver uppercase/lowercase absolute/relative permanent/temporary primary/secondary primary/standby commit/rollback ' +
  'committed/uncommitted shared/exclusive eager/lazy single/multiple safe/dangerous deprecated/recommended north/south northern/southern east/west ' +
  'eastern/western win/lose won/lost buy/sell bought/sold arrive/depart arrived/left alive/dead cheap/expensive young/old rich/poor hot/cold warm/cold ' +
  'forward/backward forwards/backwards keep/discard retain/discard preserve/discard blocking/nonblocking read-only/writable odd/even immediately/eventually ' +
  'immediately/later acquire/release exist/missing best/worst better/worse easy/difficult often/rarely usually/rarely major/minor full/empty most/least ' +
  CHINESE_PAIRS;

const splitPairs = (pairs: string): readonly (readonly [string, string])[] =>
  pairs.split(' ').flatMap((pair) => {
    const [one, other] = pair.split('/');
    return one === undefined || other === undefined ? [] : [[stemWord(one), stemWord(other)] as const];
  });

const RELATIONS: ReadonlySet<string> = new Set(splitPairs(RELATION_PAIRS).flat());

const OPPOSITES: ReadonlyMap<string, ReadonlySet<string>> = collectOpposites([
  ...splitPairs(RELATION_PAIRS),
  ...splitPairs(PAIRS),
]);

function collectOpposites(pairs: readonly (readonly [string, string])[]): ReadonlyMap<string, ReadonlySet<string>> {
  const opposites = new Map<string, Set<string>>();
  const add = (word: string, opposite: string): void => {
    const known = opposites.get(word);
    if (known) known.add(opposite);
    else opposites.set(word, new Set([opposite]));
  };
  for (const [one, other] of pairs) {
    add(one, other);
    add(other, one);
  }
  return opposites;
}
