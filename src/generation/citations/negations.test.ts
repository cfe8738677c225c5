import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countNegations, hasKnownNegations } from './negations.ts';
import { createPassage } from './passage.ts';

const STATEMENTS = [
  ['Die Brücke wurde im Jahr 1900 in Hamburg gebaut.', 'Die Brücke wurde im Jahr 1900 nicht in Hamburg gebaut.'],
  ['Der Server braucht einen Neustart nach dem Update.', 'Der Server braucht keinen Neustart nach dem Update.'],
  ['Die Tabelle wird beim Start gelöscht.', 'Die Tabelle wird beim Start niemals gelöscht.'],
  ['Le serveur supporte les connexions chiffrées.', 'Le serveur ne supporte pas les connexions chiffrées.'],
  ['El servidor admite conexiones cifradas.', 'El servidor no admite ninguna de las conexiones cifradas.'],
  ['Сервер поддерживает шифрованные соединения.', 'Сервер не поддерживает шифрованные соединения.'],
  ['このサーバーは暗号化接続をサポートしています。', 'このサーバーは暗号化接続をサポートしていません。'],
  ['이 서버는 암호화 연결을 지원합니다.', '이 서버는 암호화 연결을 지원하지 않습니다.'],
  ['升级之后删除旧的数据文件。', '升级之后别删除旧的数据文件。'],
  ['其他会话能看到已提交事务的数据行。', '其他会话能看到未提交事务的数据行。'],
  ['该函数以阻塞方式读取套接字。', '该函数以非阻塞方式读取套接字。'],
  ['默认配置下启用自动清理进程。', '默认配置下禁用自动清理进程。'],
  ['普通用户允许修改系统目录。', '普通用户禁止修改系统目录。'],
  ['启动服务之前开启防火墙规则。', '启动服务之前关闭防火墙规则。'],
] as const;

describe('createPassage', () => {
  for (const [one, other] of STATEMENTS)
    it(`tells a statement from its opposite: ${other}`, () => {
      for (const [source, sentence] of [
        [one, other],
        [other, one],
      ] as const) {
        assert.deepEqual(createPassage(source).compareSentence(sentence).isSupported, false);
        assert.ok(!createPassage(source).clearlySupports(sentence));
        assert.ok(createPassage(source).compareSentence(source).isSupported);
      }
    });

  it('adds no citation in a language without known negations, but keeps the written ones', () => {
    const source = 'De server ondersteunt versleutelde verbindingen en logboeken.';
    assert.ok(!createPassage(source).clearlySupports(source));
    assert.ok(createPassage(source).compareSentence(source).isSupported);
  });
});

describe('countNegations', () => {
  for (const [text, count] of [
    ['It is not only fast, it never fails', 1],
    ['Es ist nicht nur schnell', 0],
    ['Il ne faut jamais le supprimer', 1],
    ['On n’utilise pas ce port', 1],
    ['Это не только быстро', 0],
    ['設定する必要があるかもしれません', 0],
    ['设置后必须重启，否则不生效', 1],
    ['未来的版本分别处理特别的类别', 0],
    ['非常快', 0],
    ['并非如此', 1],
    ['빠를 뿐만 아니라 안전합니다', 0],
  ] as const)
    it(`counts ${count} in: ${text}`, () => assert.equal(countNegations(text), count));
});

describe('hasKnownNegations', () => {
  for (const text of [
    'The pump moves water from the mill. It was built in 1900.',
    'Die Pumpe wurde im Jahr 1900 gebaut und ist alt.',
    'La pompe déplace l’eau du moulin.',
    'La bomba mueve el agua del molino.',
    'Насос качает воду.',
    '泵把水从磨坊 (mill) 抽走。',
  ])
    it(`accepts: ${text}`, () => assert.ok(hasKnownNegations(text)));

  for (const text of [
    'De pomp verplaatst water in de molen. Het is een oude molen.',
    'Pumpen flyttar vatten och är gammal.',
    'Pompa, değirmenden su taşır ve eskidir.',
    'Η αντλία μεταφέρει νερό.',
  ])
    it(`rejects: ${text}`, () => assert.ok(!hasKnownNegations(text)));
});
