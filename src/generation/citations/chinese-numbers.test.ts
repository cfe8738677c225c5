import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { normalizeChineseNumbers } from './chinese-numbers.ts';
import { createPassage } from './passage.ts';

describe('normalizeChineseNumbers', () => {
  for (const [text, expected] of [
    ['最多支持五个连接', '最多支持5个连接'],
    ['三百万人', '3000000人'],
    ['超过三百万。', '超过3000000。'],
    ['300万人，1.1亿元，1,200万', '3000000人，110000000元，12000000'],
    ['十二个，二十天，两次，一百零五页，三千二百项', '12个，20天，2次，105页，3200项'],
    ['二〇二三年十月一日', '2023年10月1日'],
    ['第一章，百分之五十', '第1章，50%'],
    ['一亿二千万人', '120000000人'],
  ] as const)
    it(`reads ${text}`, () => assert.equal(normalizeChineseNumbers(text), expected));

  for (const text of [
    '这是一个数据库',
    '五六个',
    '几十个',
    '十分重要',
    '万一失败',
    '千万别删除',
    '三百五',
    '四川',
    '百科',
  ])
    it(`leaves ${text}`, () => assert.equal(normalizeChineseNumbers(text), text));
});

describe('createPassage', () => {
  for (const [source, same, other] of [
    ['服务器最多支持五个并发连接。', '服务器最多支持5个并发连接。', '服务器最多支持三个并发连接。'],
    ['服务器最多支持5个并发连接。', '服务器最多支持五个并发连接。', '服务器最多支持六个并发连接。'],
    ['这座城市的人口超过300万。', '这座城市的人口超过三百万。', '这座城市的人口超过三千万。'],
  ] as const)
    it(`compares numerals: ${source}`, () => {
      assert.ok(createPassage(source).compareSentence(same).isSupported);
      assert.ok(!createPassage(source).compareSentence(other).isSupported);
    });
});
