"""The short, frequent words that give a Latin-script language away.

A word before an apostrophe keeps it ("c'", "don'"), since that is half of what makes it telling.
"""

_ENGLISH = """
a about after all also always am an and any are aren' as at back be because been before being but by
can can' cannot come could couldn' did didn' do does doesn' doing don' down each even every everyone few
find first for from get give go going good got great had has hasn' have haven' he he' hello help her here
him his how how' i i' if in into is isn' it it' its just keep know last let let' like little long look
made make many may me more most much must my need never new next no not nothing now of off on one only or
other our out over people please put really right said same say see she she' should so some something
still such take tell than thank thanks that that' the their them then there there' these they they' thing
things think this those through time to today together tomorrow tonight too two under until up us use very
want was wasn' way we we' well went were weren' what what' when where where' which while who why will with
without won' work would wouldn' year years yes yesterday yet you you' your
"""
_SPANISH = """
a ahora al algo algún alguna ante antes aquí así aunque ayer año años bien buena bueno buenas buenos cada
casa como cómo con cosa cosas creo cuál cuando cuándo cuatro cuánto cuántos de del desde después dice
dijo dinero donde dónde dos día días el él ella ellos en entonces entre era eran eres es esa ese eso esos
esta está estaba estamos están estar estas este esto estos estoy estás favor fue fueron gente gracias
gusta había hablar hace hacer haces hacia han hasta hay he hermano hermana hijo hizo hola hombre hoy iba ir
la las le les lo los luego llama llamo lugar me mejor menos mi mis mientras mismo mucha mucho muchas
muchos muy más mí nada nadie necesito ni niños no nombre nos nosotros nuestra nuestro nueva nuevo nunca o
otra otro otros para pero perdón poco podemos poder por porque puede pueden puedes puedo pues que
qué quien quién quiere quiero sea ser según será si sido siempre sin sobre solo son soy su sus sé sí
también tan tanto te tengo tenemos tiempo tiene tienen tienes toda todo todos trabajo trabajar tres tu tus
tú un una uno unos usted ustedes va vamos van ver vez vida voy y ya yo
"""
_FRENCH = """
a ai ainsi alors après au aujourd' aurait aussi autre autres aux avait avant avec avez avoir avons beaucoup
bien bon bonjour bonne bonsoir c' ce cela ces cet cette ceux chaque chez comme comment combien contre d'
dans de depuis des deux dire dit doit donc du déjà elle elles en encore entre es est et étaient était été
être eu eux faire fait faut femme fois font gens grand grande heure hier homme ici il ils j' je jour jours
jusqu' l' la le les leur leurs lui m' ma maintenant mais maison mal matin me merci mes mieux moi moins mon
monde monsieur même n' ne ni nom nos notre nous nouveau on ont ou où oui par parce parle parler pas
pendant peu peut peux plaît plus pour pourquoi pouvez prendre près puis qu' quand que quel quelle quelque
qui quoi rien s' sa sais sait sans se sera ses si sommes son sont sous soir suis sur t' ta te temps tes toi
ton toujours tous tout toute toutes train travail travaille très trop trouve trouver tu un une va vais vas
venir vers veut veux vie voilà voir vont vos votre voudrais vous vraiment vu y à ça
"""
_ITALIAN = """
a abbiamo ad adesso agli ai al all' alla alle allo altra altri altro anche ancora andare anni anno avere
aveva bella bello bene buona buongiorno buono c' casa che chi ci ciao cioè col come con cosa così
cui d' da dagli dai dal dall' dalla dalle davvero degli dei del dell' della delle dello deve devo di dice
dire disse domani dopo dov' dove due e ed ecco era erano essere fa fare fatto fra gente già gli giorni
giorno grande grazie ha hai hanno ho i ieri il in insieme io l' la lavoro le lei li lo loro lui ma mai me
meglio mentre mi mia mie miei mio molta molti molto momento mondo negli nei nel nell' nella nelle nessuno
niente noi nome non nostra nostro nulla nuovo o oggi ogni ora parla parlare parte per perché perciò però
piace più po' poco poi posso possono potrebbe prego prima proprio può qualche qualcosa quale quando quanto
quel quella quelle quelli quello quest' questa queste questi questo qui quindi sai sapere se sei sempre
senza si sia siamo sia sono solo sopra sta stai stato stata stati sto stiamo su sua sue sul sull' sulla
suo suoi tanto te tempo ti tra tre troppo tu tua tuo tutta tutte tutti tutto un un' una uno va vedere vero
vita voglio vogliamo voi volta vorrei vuoi vuole è
"""
_PORTUGUESE = """
a agora ai ainda algo alguém alguma além amanhã ano anos antes ao aos apenas aqui as assim até bem boa bom
cada casa coisa coisas com como da das de dela dele deles depois desde deve dia dias disse dizer do dois
dos e é ela elas ele eles em então entre era eram essa esse esta está estamos estão estar estava este estou
eu falar fala faz fazer fez foi fora foram gente grande há hoje homem hora isso isto já lá lhe lugar mais
mas me melhor menos mesmo meu meus minha minhas muita muito muitos mulher mundo na nada não nas nem nenhum
ninguém no noite nome nos nossa nosso nova novo nós num numa nunca o obrigada obrigado olá onde ontem os
ou outra outro outros para parece pela pelo pelos pessoas poder pode podem podemos pois por porque porquê
posso pouco precisa preciso primeiro pra quais qual quando quanto quase que quem quer quero sabe saber se
seja sem sempre senhor sendo ser será seu seus sim sobre somos sou sua suas só são também tanto te tem têm
temos tempo tenho ter tinha toda todas todo todos trabalho trabalhar três tu tudo um uma vai vamos vez
vezes vida você vocês vou à às
"""

STOPWORDS: dict[str, frozenset[str]] = {
    "en": frozenset(_ENGLISH.split()),
    "es": frozenset(_SPANISH.split()),
    "fr": frozenset(_FRENCH.split()),
    "it": frozenset(_ITALIAN.split()),
    "pt": frozenset(_PORTUGUESE.split()),
}
