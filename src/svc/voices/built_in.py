"""What a voice says to introduce itself, in each language."""

from svc.text.language import Language

INTRODUCTIONS = {
    Language.ENGLISH_US: "Hello! This is how I sound. Give me a text, and I will read it to you.",
    Language.ENGLISH_GB: "Hello! This is how I sound. Give me a text, and I will read it to you.",
    Language.SPANISH: "¡Hola! Así es como sueno. Dame un texto y te lo leeré.",
    Language.FRENCH: "Bonjour ! Voici ma voix. Donnez-moi un texte, et je vous le lirai.",
    Language.HINDI: "नमस्ते! मेरी आवाज़ ऐसी है। मुझे कोई पाठ दीजिए, मैं उसे पढ़ दूँगी।",
    Language.ITALIAN: "Ciao! Ecco la mia voce. Dammi un testo e te lo leggerò.",
    Language.JAPANESE: "こんにちは。これが私の声です。文章をいただければ、お読みします。",
    Language.PORTUGUESE_BR: "Olá! Esta é a minha voz. Me dê um texto e eu o lerei para você.",
    Language.MANDARIN: "你好！这就是我的声音。给我一段文字，我来读给你听。",
}
