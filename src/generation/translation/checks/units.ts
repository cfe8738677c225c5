/**
 * Spellings of units after a number, in lower case: symbols of any language, and words of widespread languages. Words that
 * mean something else in another language, or two units, are left out.
 */
const SPELLINGS: Readonly<Record<string, string>> = {
  kilometer:
    'km kilometer kilometers kilometre kilometres kilometern kilomètre kilomètres kilómetro kilómetros chilometro chilometri quilômetro quilômetros 公里 千米 キロメートル 킬로미터 км километр километра километров',
  meter: 'm meter meters metre metres metern mètre mètres metro metros metri 米 公尺 メートル 미터 м метр метра метров',
  centimeter:
    'cm centimeter centimeters centimetre centimetres zentimeter zentimetern centimètre centimètres centímetro centímetros centimetro centimetri 厘米 公分 センチメートル センチ см сантиметр сантиметра сантиметров',
  millimeter:
    'mm millimeter millimeters millimetre millimetres millimetern millimètre millimètres milímetro milímetros 毫米 ミリメートル мм миллиметр миллиметров',
  mile: 'mi mile miles meile meilen milla millas miglio miglia milha milhas 英里 マイル 마일 миля мили миль',
  foot: 'ft foot feet fuß pied pieds pie pies piede piedi 英尺 フィート фут фута футов',
  inch: 'inch inches zoll pouce pouces pulgada pulgadas pollice pollici 英寸 インチ дюйм дюйма дюймов',
  kilogram:
    'kg kilogram kilograms kilogramm kilogramme kilogrammes kilo kilos kilogramo kilogramos chilo chili chilogrammi 公斤 千克 キログラム キロ 킬로그램 кг килограмм килограмма килограммов',
  gram: 'g gram grams gramm gramme grammes gramo gramos grammo grammi grama gramas 克 グラム г грамм грамма граммов',
  milligram: 'mg milligram milligrams milligramm milligramme milligrammes 毫克 ミリグラム мг миллиграмм миллиграммов',
  ton: 't ton tons tonne tonnes tonnen tonelada toneladas tonnellata tonnellate 吨 噸 トン 톤 тонна тонны тонн',
  pound: 'lb lbs 磅',
  liter: 'l liter liters litre litres litern litro litros litri 升 公升 リットル 리터 л литр литра литров',
  milliliter:
    'ml milliliter milliliters millilitre millilitres mililitro mililitros 毫升 ミリリットル мл миллилитр миллилитров',
  celsius: '°c 摄氏度 攝氏度',
  fahrenheit: '°f 华氏度 華氏度',
  percent: '% ％ percent prozent pourcent procent процент процента процентов',
  millisecond:
    'ms millisecond milliseconds millisekunde millisekunden milliseconde millisecondes milisegundo milisegundos millisecondi 毫秒 ミリ秒 мс миллисекунд',
  second:
    's sec second seconds sekunde sekunden seconde secondes segundo segundos secondo secondi 秒 秒钟 秒間 초 секунда секунды секунд',
  minute: 'min minute minutes minuten minuto minutos minuti 分 分钟 分鐘 分間 분 минута минуты минут',
  hour: 'h hour hours stunde stunden heure heures hora horas ora ore 小时 小時 时间 時間 시간 час часа часов',
  day: 'day days tag tage tagen jour jours día días dia dias giorno giorni 天 日 日間 일 день дня дней',
  week: 'week weeks woche wochen semaine semaines semana semanas settimana settimane 周 星期 週間 주 неделя недели недель',
  month: 'month months monat monate monaten mois mes meses mese mesi mês 个月 個月 か月 ヶ月 개월 месяц месяца месяцев',
  year: 'year years jahr jahre jahren ans année années año años anno anni ano anos 年 年間 년 год года лет',
  kilobyte: 'kb',
  megabyte: 'mb мб',
  gigabyte: 'gb гб',
  terabyte: 'tb тб',
  kilowatt: 'kw квт',
  'kilowatt hour': 'kwh квтч',
  watt: 'w watt',
  volt: 'v volt volts',
  'kilometer per hour': 'km/h км/ч kmh 公里/小时',
  'mile per hour': 'mph',
  dollar: '$ usd dollar dollars dólar dólares dollaro dollari 美元 ドル 달러 доллар доллара долларов',
  euro: '€ eur euro euros 欧元 歐元 ユーロ 유로 евро',
  'pound sterling': '£ gbp 英镑 英鎊',
  yen: '¥ ￥ yen 日元 円 엔',
};

const UNITS: ReadonlyMap<string, string> = new Map(
  Object.entries(SPELLINGS).flatMap(([unit, spellings]) => spellings.split(' ').map((spelling) => [spelling, unit])),
);

/** Characters of the longest spelling. */
const SPELLING_CHARS_MAX = 16;

const CURRENCY_BEFORE = /([$€£¥￥])\s?$/;
const WORD_AFTER =
  /^[\s\u00a0\u202f-]?(°\s?[CF]|[\p{Script=Latin}\p{Script=Cyrillic}]+(?:\/[\p{Script=Latin}\p{Script=Cyrillic}]+)?|[%％$€£¥￥])/u;
/** The end of `1990s`. */
const DECADE = /^s\b/;

const IDEOGRAPHS_AFTER = /^\s?([\p{scx=Han}\p{scx=Katakana}\p{scx=Hiragana}\p{scx=Hangul}]{1,8})/u;

/**
 * Returns the unit of the number at a range, as one name for all its spellings. Undefined where none is known: languages
 * have more words for units than the table.
 */
export function readUnit(
  text: string,
  { start, end }: { readonly start: number; readonly end: number },
): string | undefined {
  const before = CURRENCY_BEFORE.exec(text.slice(Math.max(0, start - 2), start))?.[1];
  if (before !== undefined) return UNITS.get(before);
  const after = text.slice(end, end + SPELLING_CHARS_MAX + 2);
  if (DECADE.test(after)) return undefined;
  const word = WORD_AFTER.exec(after)?.[1]?.toLowerCase().replace(/\s/g, '');
  if (word !== undefined) return UNITS.get(word);
  const ideographs = IDEOGRAPHS_AFTER.exec(after)?.[1] ?? '';
  for (let length = ideographs.length; length > 0; length--) {
    const unit = UNITS.get(ideographs.slice(0, length));
    if (unit !== undefined) return unit;
  }
  return undefined;
}
