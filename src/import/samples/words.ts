// Words of the generated sample users, in many scripts. None of them needs an escape in JSON.

const list = (words: string) => words.split(' ');

/** Given and family names that belong together, and whether the user name is in the same script. */
export const NAMES: readonly { readonly given: readonly string[]; readonly family: readonly string[] }[] = [
  {
    given: list(
      'Ada Mira Tomas Elodie Jonas Lucía Zoë Björn Ines Niamh Ruben Agnès Oskar Freya Luca Beatriz',
    ),
    family: list(
      'Halonen Weber García O’Neill Søndergaard Novák Moreau Silva Lindqvist Rossi Kowalska Murphy',
    ),
  },
  {
    given: list('Amara Kwame Thandiwe Chidi Zainab Sipho Makena Abebe Fatou Kofi'),
    family: list('Okafor Mensah Dlamini Adeyemi Diallo Mwangi Tesfaye Nkosi Kamara Boateng'),
  },
  {
    given: list('Νίκος Ελένη Γιώργος Μαρία Δημήτρης Σοφία'),
    family: list('Παπαδόπουλος Γεωργίου Νικολάου Οικονόμου Βλάχου Ιωάννου'),
  },
  {
    given: list('Анна Дмитрий Олена Иван Катерина Юрий Светлана Павло'),
    family: list('Иванова Шевченко Соколов Петренко Кузнецова Бондаренко Волков Мельник'),
  },
  {
    given: list('陽菜 蓮 美咲 大翔 結衣 悠真 さくら ハルト'),
    family: list('佐藤 鈴木 高橋 田中 伊藤 渡辺 山本 中村'),
  },
  { given: list('晓 伟 芳 静 磊 雪 俊杰 欣怡'), family: list('王 李 张 刘 陈 杨 林 欧阳') },
  { given: list('민준 서연 지우 하은 도윤 수아'), family: list('김 이 박 최 정 강') },
  { given: list('محمد ليلى يوسف نور مريم عمر'), family: list('حداد الخطيب منصور شريف العلي بركات') },
  { given: list('נועם תמר איתי מאיה יונתן שירה'), family: list('כהן לוי מזרחי פרץ ביטון אברהם') },
  { given: list('आरव अनन्या विवान दिया अर्जुन ईशा'), family: list('शर्मा वर्मा पटेल सिंह गुप्ता नायर') },
  { given: list('สมชาย มาลี ณัฐ พลอย ธนา อรุณ'), family: list('ศรีสุข ทองดี บุญมา แสงจันทร์ วงศ์ไทย ใจดี') },
];

/** Beginnings of user names. */
export const HANDLES = list(
  'ada mira tomas elodie jonas lucia zoe bjorn ines ruben oskar freya quiet paper harbour type ink north kiln loom atlas ferry moss amber cobalt studio 林晓 νίκος анна さくら ليلى',
);

export const PLACES: readonly (readonly [city: string, country: string])[] = [
  ['Lisbon', 'pt'],
  ['Göteborg', 'se'],
  ['Kraków', 'pl'],
  ['大阪', 'jp'],
  ['Montréal', 'ca'],
  ['Porto Alegre', 'br'],
  ['Nairobi', 'ke'],
  ['Αθήνα', 'gr'],
  ['القاهرة', 'eg'],
  ['서울', 'kr'],
  ['München', 'de'],
  ['Київ', 'ua'],
  ['मुंबई', 'in'],
  ['กรุงเทพฯ', 'th'],
  ['תל אביב', 'il'],
];

export const ADJECTIVES = list(
  'quiet second blue unfinished folded early northern small bright borrowed slow late hand-set paper wild',
);
export const SUBJECTS = list(
  'harbour timetable poster alphabet garden bridge letter map window kiosk ferry chair lantern market tram',
);
export const TAGS = list(
  'type print ink lettering map photo sketch poster archive colour tram ceramics code letterpress 書体 шрифт',
);

export const SENTENCES: readonly string[] = [
  'The light was good today, and we walked along the river until it rained.',
  'Third round; the type is still too loud.',
  'Bread, coffee, and a long letter to answer.',
  'Does anybody know a quiet place to read near the old station?',
  'Vi åkte spårvagn hela vägen till havet och tillbaka igen.',
  'Drei Farben auf ungestrichenem Papier, zweiter Andruck.',
  'Hoy terminamos el mapa de las islas: once islas, cuatro colores.',
  '今日は雨。港の夜景を描いています。',
  'Сегодня напечатали первый лист.',
  'رسم جديد للميناء ليلا، بالحبر والأزرق.',
  'Ο φάρος ξανά, με μολύβι.',
  'Made with ❤️ and too much coffee ☕️',
  'More on the second sheet; the first one was a mistake, and a good one.',
];

/** What breaks layouts, one for each awkward user. The longest text makes records of nearly 64 KiB, the most there may be. */
export const AWKWARD: readonly { readonly name: string; readonly text: string }[] = [
  { name: '', text: '' },
  { name: 'x'.repeat(255), text: 'word '.repeat(12_800).trim() },
  { name: 'Donaudampfschifffahrtsgesellschaftskapitänswitwe'.repeat(5), text: 'w'.repeat(5000) },
  { name: '👩🏽‍🚀👨‍👩‍👧‍👦🏳️‍🌈🇪🇺', text: '🎉'.repeat(500) },
  { name: 'שלום עולם abc مرحبا', text: 'من اليمين to the left אל הימין 123, (x) [y]' },
  { name: '<b>Not bold</b>', text: '<script>alert(1)</script> &amp; &lt;p&gt; "quotes" \\ and \'more\'' },
  { name: 'Z͑ͫ̓ͪ̂a̴̵̜̰l̡͊͠g̶̲̱o̵͖͇', text: 'a\u0301'.repeat(2000) },
  { name: '   spaces   ', text: 'line\n\n\n\nline\r\nline\ttab\u2028separator' },
  { name: 'ＦＵＬＬ　ＷＩＤＴＨ ﷽', text: '漢字'.repeat(3000) },
  { name: '\u200b\u200b\u200b', text: '0' },
  { name: '%00 %2F ../../ {{name}} $name {0}', text: 'null undefined NaN true [object Object]' },
  { name: 'A', text: '.' },
];
