größe = "é ü — …"  # Zeichen
α, β = 0.9, 0.95
Δt = α * β
print("日本語", "привет", "👩‍💻 done ✓")
имя = "x"
escaped = "\u200b"
ñandú = größe.upper()
