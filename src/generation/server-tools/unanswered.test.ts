import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_ANSWER_SENTENCE, statesNoAnswer } from './unanswered.ts';

describe('statesNoAnswer', () => {
  for (const answer of [
    NO_ANSWER_SENTENCE,
    ` ${NO_ANSWER_SENTENCE} They are about lighthouses.`,
    'The search results don’t mention the price of a ticket.',
    'Unfortunately, the provided documents do not contain any information about volcanoes.',
    'I am sorry, but there is no information about volcanoes in the search results.',
    'The information provided does not specify the year.',
    'The search results do not say when it opened.',
    'I could not find any information about volcanoes in the search results. Please try another question.',
    'The page does not answer the question.',
    'This document does not say.',
    '搜索结果没有提到票价。',
    '抱歉，搜索结果中并未提供相关信息。请提供更多细节。',
    'Die Suchergebnisse enthalten keine Angaben dazu.',
    'In den Suchergebnissen gibt es keine Informationen über Vulkane.',
    'Les résultats de recherche ne répondent pas à cette question.',
    'Los resultados de búsqueda no mencionan el precio.',
  ])
    it(`accepts ${JSON.stringify(answer)}`, () => assert.equal(statesNoAnswer(answer), true));

  for (const answer of [
    '',
    'The lighthouse has 203 steps.',
    'The lighthouse has 203 steps. The search results do not say who built it.',
    'The results of the vote are known. It does not matter what they say.',
    'A document without a date does not match.',
    '灯塔有203级台阶。',
    'The page does not contain JavaScript; the answer is 5.',
    'The page does not contain JavaScript.',
    'The search results do not say it. You pay 5 euros.',
    'The search results do not say it. I know that it opened in 1986.',
    'This information does not include taxes: the price is 100.',
    'This information does not include taxes. The price is 100.',
    "The document explains that users don't need to provide a password.",
    'According to the source, the API does not provide a delete method.',
    'The search results do not mention a price, but a ticket costs 5 euros.',
    'The search results do not mention adults. Children pay 5 euros.',
    '搜索结果不止提到了A，还提到了B。',
    '搜索结果没有提到成人票价。儿童票价为5欧元。',
    'Die Suchergebnisse nennen nicht nur das Jahr.',
    'Die Suchergebnisse enthalten keine Preise für Erwachsene. Kinder zahlen 5 Euro.',
  ])
    it(`rejects ${JSON.stringify(answer)}`, () => assert.equal(statesNoAnswer(answer), false));

  it('takes linear time for any text', () => {
    const before = process.cpuUsage();
    for (const hostile of ['the results ', 'no information ', ' '.repeat(9), '资料'])
      statesNoAnswer(hostile.repeat(100_000));
    assert.ok(process.cpuUsage(before).user < 1_000_000);
  });
});
