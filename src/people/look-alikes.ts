/**
 * Letters and digits that are taken for others, each group behind what it is read as: of those that names may have, all that
 * Unicode's confusables.txt names (UTS #39, data of Unicode 10), where neither has an accent or is a piece of a Korean
 * syllable; and ї, κ, χ, η, ω and ѡ besides, and ӏ as l. The data is © Unicode, Inc. (https://www.unicode.org/license.txt).
 */
const GROUPS =
  '/=〳ノ丿 2=Ꙅ 3=ЗӠ 6=б 8=৪੪ 9=৭੧൭ a=ΑαАа ae=ÆæӔӕ b=ΒВЬ bl=Ы c=Сс d=ԁ e=ΕЕеҽ f=Ϝք g=Ԍց h=ΗНһհ i=ιіїꙇ j=ͿϳЈј k=ΚκК ' +
  'l=ΙІЇӀӏ\u05D5\u05DF\u0627\u0661\u06F1 ll=\u05F0 lo=Ю m=ΜϺМ n=Νηոռ ' +
  'o=ΟοσОоՕօ\u05E1\u0647\u0665\u06BE\u06C1\u06D5\u06F5०০੦૦௦౦೦ഠ൦๐໐ဝ၀ჿዐ〇 oe=Œœ oo=Ꚙꚙ p=ΡρРр q=Ԛԛգզ r=гᴦ s=ЅѕՏ t=ΤТ ' +
  'u=υՍսሀ v=νѴѵ\u05D8\u0667\u06F7 w=ωѡԜԝա x=ΧχХх y=ΥγУуҮүყ z=Ζ ß=β þ=Ϸϸ ȝ=ӡჳ ɰ=պሣ ɸ=φф ʌ=ΛЛ\u0668\u06F8ᴧ γ=Г π=Ппᴨ ' +
  'ς=ϛ φ=ФՓቀ ψ=Ѱѱ ω=ꙍ и=Ͷ л=ᴫ ҷ=Ӌӌ ձ=ኔ ո=በ \u0629=\u06C3 \u0641=\u06A7 \u0643=\u06A9\u06AA \u0648=\u08B1 ' +
  '\u0649=\u064A\u066E\u06BA\u06CC\u06D2\u08BD \u0662=\u06F2 \u0663=\u06F3 \u0664=\u06F4 \u0666=\u06F6 ' +
  '\u0669=\u06F9१ \u067B=\u06D0 \u06A1=\u066F\u08BB\u08BC \u06AC=\u0762 \u06AF=\u08B0 \u0754=\u0767\u08A9 ऽ=ઽ २=૨ ' +
  '३=૩ ४=૪ ८=૮ ॱ=ൎ அ=௮ ஈ=ர உ=௨ഉ எ=௭ ஐ=ஜജ க=௧ ச=௪ ண=ണ ய=௰ ழ=ഴ ஶ=ശ అ=ಅ ఆ=ಆ ఇ=ಇ ఒ=ಒ జ=ಜ ఞ=ಞ ణ=ಣ య=ಯ ఱ=ಱ ల=ಲ ౧=೧ ౨=೨ ' +
  '౯=೯ ഞ=ൡ ര=റ ජ=෪ ද=෫ ข=ฃ ค=ดต ฆ=ม จ=ຈ ช=ซ ฎ=ฏ ฑ=ท บ=ບ ป=ປ ฝ=ຝ พ=ພ ฟ=ຟ ภ=ฦ ย=ຍ า=ๅ ၁=ၥ ሆ=Մ ቡ=Ռ ኮ=Ի ጣ=Պ អ=ឣ ᴎ=ͷи ' +
  'ᴛ=τт ẟ=δծ へ=ヘ ー=一 㖈=䎛 㘽=㦳 㩁=搉 㫚=曶 㬵=胶 㬺=幐 㬻=䐠 㮣=槩 䀹=鿃 䀿=晣 䑃=朦 䚶=訞 二=ニ 亻=イ 併=倂 値=值 八=ハ 力=カ 卜=ト 口=ロ囗 啓=啟 土=士 塡=填 ' +
  '墫=壿 夕=タ 媯=嬀 工=エ 帡=帲 戶=戸 晚=晩 朌=肦 朏=胐 朐=胊 朓=脁 朘=脧 朣=膧 杮=柿 榝=樧 溈=潙 研=硏 絕=絶 胼=腁 蒍=蔿 蘷=虁 訮=詽 讆=讏 豜=豣 赿=趆 跥=跺 躗=躛 軿=輧 ' +
  '郎=郞 鎭=鎮 隷=隸 鹂=鹃 黑=黒 ꞓ=εЄєԑ';

const READ_AS: ReadonlyMap<string, string> = new Map(
  GROUPS.split(' ').flatMap((group) => {
    const [read = '', letters = ''] = group.split('=');
    return Array.from(letters, (letter) => [letter, read] as const);
  }),
);

/** Whether two names are taken for one another at a glance, in whatever scripts they are. */
export function looksLike(one: string, other: string): boolean {
  return lookOf(one) === lookOf(other);
}

function lookOf(name: string): string {
  return Array.from(name.normalize('NFKC'), (letter) => READ_AS.get(letter) ?? letter)
    .join('')
    .replaceAll(/[I1]/g, 'l')
    .replaceAll('0', 'o')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
    .trim()
    .replaceAll(/\s+/g, ' ')
    .toLowerCase();
}
